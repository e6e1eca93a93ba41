import type { Schema } from '@/api/client'

export type Use = 'chat' | 'embeddings'
type Kind = Schema<'ProviderOut'>['kind']

export type Preset = {
  name: string
  /** Null: the provider's own. */
  base: string | null
  kind: Record<Use, Kind | undefined>
  /** Whether it wants a key, and where it runs: one on this machine has an address that can be changed. */
  local: boolean
  embeds: string[]
}

const OPENAI: Record<Use, Kind> = { chat: 'openai', embeddings: 'embeddings' }

export const PRESETS: Record<string, Preset> = {
  openai: {
    name: 'OpenAI',
    base: 'https://api.openai.com/v1',
    kind: OPENAI,
    local: false,
    embeds: ['text-embedding-3-small', 'text-embedding-3-large'],
  },
  anthropic: {
    name: 'Anthropic',
    base: null,
    kind: { chat: 'anthropic', embeddings: undefined },
    local: false,
    embeds: [],
  },
  ollama: {
    name: 'Ollama',
    base: 'http://127.0.0.1:11434/v1',
    kind: OPENAI,
    local: true,
    embeds: ['nomic-embed-text', 'bge-m3', 'mxbai-embed-large'],
  },
  lmstudio: {
    name: 'LM Studio',
    base: 'http://127.0.0.1:1234/v1',
    kind: OPENAI,
    local: true,
    embeds: ['text-embedding-nomic-embed-text-v1.5'],
  },
  other: { name: '', base: '', kind: OPENAI, local: true, embeds: [] },
}

/** Which of them a provider was made from. */
export function presetOf(provider: Schema<'ProviderOut'> | undefined): string {
  if (!provider) return 'openai'
  if (provider.kind === 'anthropic' && !provider.base_url) return 'anthropic'
  const address = provider.base_url ?? PRESETS.openai!.base
  return Object.entries(PRESETS).find(([, one]) => one.base === address)?.[0] ?? 'other'
}
