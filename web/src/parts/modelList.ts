import { useLocalStorage } from '@mantine/hooks'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'

export type Model = { name: string; owner: string }
type Listed = { id?: unknown; owned_by?: unknown; default?: unknown }

/** The same entry of the cache as `chat/models.ts` has. */
const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async () => {
    const answer: { data?: unknown } = await ok(api.GET('/v1/models'))
    return Array.isArray(answer.data) ? (answer.data as Listed[]) : []
  },
  staleTime: 60_000,
  retry: false,
})

// What providers list besides, and nobody can talk to.
const SILENT = /embed|whisper|tts|dall-e|moderation|transcribe|gpt-image|sora|realtime|rerank|bge-|minilm/i

/** The models that can be talked to, and the one that answers where none is named, if the server says which. */
export function useModelList(): { models: Model[]; usual: string | undefined; pending: boolean } {
  const { data, isPending } = useQuery(modelsQuery)
  const listed = (data ?? []).flatMap((one) =>
    typeof one.id === 'string' && one.owned_by !== 'keepstone' && !SILENT.test(one.id)
      ? [
          {
            name: one.id,
            owner: typeof one.owned_by === 'string' ? one.owned_by : '',
            usual: one.default === true,
          },
        ]
      : [],
  )
  return {
    models: listed.map(({ name, owner }) => ({ name, owner })),
    usual: listed.find((one) => one.usual)?.name,
    pending: isPending,
  }
}

/** Whoever has them, by the name people know, each with those of its models that are looked for. */
export function grouped(
  models: Model[],
  typed: string,
  others: string,
): { owner: string; names: string[] }[] {
  const wanted = typed.trim().toLowerCase().split(/\s+/)
  const found = new Map<string, string[]>()
  for (const { name, owner } of models) {
    if (!wanted.every((word) => name.toLowerCase().includes(word))) continue
    const called = known(owner) || others
    found.set(called, [...(found.get(called) ?? []), name])
  }
  return [...found].map(([owner, names]) => ({ owner, names }))
}

function known(owner: string): string {
  if (/^(openai|system|user-|openai-)/i.test(owner)) return 'OpenAI'
  if (/^anthropic/i.test(owner)) return 'Anthropic'
  if (owner === 'library') return 'Ollama'
  return owner
}

/** A choice that this browser remembers, for each place of its own; empty: the default. */
export function useLastModel(place: string): [string, (model: string) => void] {
  const [model, setModel] = useLocalStorage({
    key: `keepstone.model.${place}`,
    defaultValue: '',
    getInitialValueInEffect: false,
  })
  return [model, setModel]
}
