import { ApiError } from '@/api/client'
import { events } from '@/api/events'
import type { Usage } from '@/parts/chat/Spent'
import type { UsedMemory } from '@/parts/chat/Used'

export type Prompt = { role: 'system' | 'user' | 'assistant'; content: string }
export type Piece = { text: string } | { model: string } | { used: UsedMemory[] } | { usage: Usage }

type Chunk = {
  model?: string
  choices?: { delta?: { content?: string | null } }[]
  x_memory?: { injected?: UsedMemory[] }
  usage?: Usage | null
  error?: { code?: string | null; message?: string }
}

/** A chat completion as it is written. Ends only when the model has; anything else is thrown. */
export async function* complete(
  asked: { model: string; messages: Prompt[]; memory: boolean; chat?: string; workspace?: string },
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  const body = {
    stream: true,
    stream_options: { include_usage: true },
    messages: asked.messages,
    ...(asked.model ? { model: asked.model } : {}),
  }
  const headers: Record<string, string> = { 'x-keepstone-memory': asked.memory ? 'inject' : 'off' }
  if (asked.memory && asked.chat) headers['x-keepstone-chat'] = asked.chat
  else if (asked.memory && asked.workspace) headers['x-keepstone-workspace'] = asked.workspace
  for await (const { data } of events('/v1/chat/completions', body, signal, headers)) {
    if (data === '[DONE]') return
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error)
      throw new ApiError(502, { code: chunk.error.code ?? 'upstream', message: chunk.error.message ?? '' })
    if (chunk.model) yield { model: chunk.model }
    if (chunk.x_memory?.injected?.length) yield { used: chunk.x_memory.injected }
    const text = chunk.choices?.[0]?.delta?.content
    if (text) yield { text }
    if (chunk.usage) yield { usage: chunk.usage }
  }
  throw new ApiError(502, { code: 'cut', message: '' })
}
