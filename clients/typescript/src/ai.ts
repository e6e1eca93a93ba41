/**
 * Memory for the Vercel AI SDK: a middleware around a language model.
 *
 * Before a turn it recalls what bears on what the user says, and puts it into the system prompt, marked as quoted data.
 * After it, what the user said and what the model answered are kept: these two and nothing else, so what was recalled
 * is never taken in as something that somebody said. What goes wrong with memory never stops the model.
 */

import type { LanguageModelMiddleware } from 'ai'
import { Keepstone } from './client.js'

type Params = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']
type Prompt = Params['prompt']
type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware['wrapStream']>>>
type Part = Streamed['stream'] extends ReadableStream<infer P> ? P : never

/** What went wrong; the model's turn goes on without it. */
export interface MemoryWarning {
  during: 'recall' | 'keep'
  scope: string
  error: unknown
}

export interface MemoryOptions {
  /** Without one, made from the environment's KEEPSTONE_URL and KEEPSTONE_API_KEY. */
  client?: Keepstone
  /** The conversation to remember; a call can name another in `providerOptions.keepstone.scope`. */
  scope?: string
  /** As whom the user and the model speak there. */
  speaker?: string
  assistant?: string
  /** false: nothing is put before the model. */
  recall?: boolean
  /** false: nothing is kept. */
  keep?: boolean
  /** How many turns are recalled at most, how relevant they have to be, and how many tokens they may take. */
  limit?: number
  minRelevance?: number
  maxTokens?: number
  /** Milliseconds that the model waits for memory at most, each time: 5,000 by default. */
  patience?: number
  /** Otherwise a line on the console. */
  onWarning?: (warning: MemoryWarning) => void
}

/** A turn in a prompt: what the user said last, and in which conversation. */
interface Turn {
  client: Keepstone
  scope: string
  speaker: string
  said: string
  /** The same for all steps of a turn. */
  key: string
  /** Nobody but the user has spoken in it yet. */
  begins: boolean
}

/** Of so many turns that wait for the results of their tools what was recalled is known. */
const OPEN_TURNS = 1_000

export function keepstoneMemory(options: MemoryOptions = {}): LanguageModelMiddleware {
  const { recall = true, keep = true, assistant = 'assistant', patience = 5_000 } = options
  const base = options.client ?? new Keepstone()
  const recalled = new Map<string, string>()

  function warn(during: MemoryWarning['during'], scope: string, error: unknown): void {
    if (options.onWarning) options.onWarning({ during, scope, error })
    else console.warn(`Keepstone could not ${during}: ${error instanceof Error ? error.message : error}`)
  }

  function turnOf(params: Params): Turn | undefined {
    const place = params.prompt.findLastIndex((message) => message.role === 'user')
    const said = textOf(params.prompt[place])
    const own = (params.providerOptions?.keepstone ?? {}) as { scope?: string; user?: string; speaker?: string }
    const scope = own.scope ?? options.scope
    if (!said || !scope) return undefined
    return {
      client: own.user ? base.actingFor(own.user) : base,
      scope,
      speaker: own.speaker ?? options.speaker ?? 'user',
      said,
      key: JSON.stringify([own.user, scope, spoken(params.prompt.slice(0, place + 1))]),
      begins: place === params.prompt.length - 1,
    }
  }

  async function contextFor(turn: Turn, outer: AbortSignal | undefined): Promise<string> {
    const known = turn.begins ? undefined : recalled.get(turn.key)
    if (known !== undefined) return known
    let context = ''
    try {
      const wanted = {
        speaker: turn.speaker,
        limit: options.limit ?? 10,
        max_tokens: options.maxTokens ?? 1_000,
        min_relevance: options.minRelevance ?? 0.12,
      }
      const { signal, end } = within(patience, outer)
      context = (await turn.client.scopes.recall(turn.scope, turn.said, wanted, { signal }).finally(end)).context
    } catch (error) {
      if (!outer?.aborted) warn('recall', turn.scope, error)
    }
    recalled.delete(turn.key)
    recalled.set(turn.key, context)
    for (const oldest of recalled.keys()) {
      if (recalled.size <= OPEN_TURNS) break
      recalled.delete(oldest)
    }
    return context
  }

  async function keepTurn(turn: Turn, answer: string, incomplete = false): Promise<void> {
    recalled.delete(turn.key)
    if (!keep || !answer) return
    // With ids of its own a transcript can be sent again.
    const id = randomId()
    const metadata = incomplete ? { incomplete: true } : undefined
    const transcript = [
      { speaker: turn.speaker, text: turn.said, id: `${id}-said` },
      { speaker: assistant, text: answer, id: `${id}-answered`, reply_to: `${id}-said`, metadata },
    ]
    const { signal, end } = within(patience)
    try {
      await turn.client.scopes.ingest(turn.scope, transcript, { signal }).finally(end)
    } catch (error) {
      warn('keep', turn.scope, error)
    }
  }

  return {
    specificationVersion: 'v4',

    async transformParams({ params }) {
      const turn = recall ? turnOf(params) : undefined
      const context = turn && (await contextFor(turn, params.abortSignal))
      return context ? { ...params, prompt: withContext(params.prompt, context) } : params
    },

    async wrapGenerate({ doGenerate, params }) {
      const turn = turnOf(params)
      const result = await doGenerate()
      if (turn && isOver(result.finishReason.unified)) {
        await keepTurn(turn, result.content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
      }
      return result
    },

    async wrapStream({ doStream, params }) {
      const turn = turnOf(params)
      const result = await doStream()
      return turn ? { ...result, stream: watched(result.stream, (...told) => keepTurn(turn, ...told)) } : result
    },
  }
}

/** The same parts. What was said in them is told before the stream ends, or when somebody ends it early. */
function watched(
  stream: ReadableStream<Part>,
  said: (answer: string, incomplete: boolean) => Promise<void>,
): ReadableStream<Part> {
  const reader = stream.getReader()
  let answer = ''
  let reason = 'interrupted'
  const over = async () => {
    if (reason !== 'tool-calls') await said(answer, !isOver(reason))
  }
  return new ReadableStream<Part>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          await over()
          controller.close()
          return
        }
        if (value.type === 'text-delta') answer += value.delta
        if (value.type === 'finish') reason = value.finishReason.unified
        controller.enqueue(value)
      } catch (fault) {
        await said(answer, true)
        controller.error(fault)
      }
    },
    async cancel(why) {
      await reader.cancel(why)
      await over()
    },
  })
}

/** The model has said what it says; with `tool-calls` the turn goes on. */
function isOver(reason: string): boolean {
  return reason === 'stop' || reason === 'length' || reason === 'content-filter' || reason === 'other'
}

/** In the system prompt, after what stands there. */
function withContext(prompt: Prompt, context: string): Prompt {
  const [first, ...rest] = prompt
  if (first?.role !== 'system') return [{ role: 'system', content: context }, ...prompt]
  return [{ ...first, content: `${first.content}\n\n${context}` }, ...rest]
}

function textOf(message: Prompt[number] | undefined): string {
  if (message?.role !== 'user') return ''
  return message.content
    .map((part) => (part.type === 'text' ? part.text : ''))
    .filter(Boolean)
    .join('\n')
}

/** What the user said so far. The system prompt is none of it: the recalled stands there later. */
function spoken(prompt: Prompt): string[] {
  return prompt.filter((message) => message.role === 'user').map(textOf)
}

function within(milliseconds: number, outer?: AbortSignal): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController()
  const stop = () => controller.abort(outer?.reason ?? new Error(`no answer within ${milliseconds} ms`))
  const timer = setTimeout(stop, milliseconds)
  if (outer?.aborted) stop()
  outer?.addEventListener('abort', stop)
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', stop)
    },
  }
}

function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
