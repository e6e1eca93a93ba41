/** One call over the network: sent as often as it takes and may be, and never waited for without an end. */

import { ConnectionFailed, failure } from './errors.js'
import { Attempts, type Retries } from './retries.js'
import { asQuery, type Call } from './routes.js'

/** Where calls go, and as whom. */
export interface Settings {
  url: string
  apiKey?: string
  user?: string
  fetch: typeof globalThis.fetch
  timeout: number
  retries: Retries
}

/** `text` is the body of what was read whole; of a success that streams it is undefined, and nobody has read it. */
interface Answered {
  response: Response
  text?: string
  patience: Patience
}

/** A call whose answer is read whole: its text. */
export async function sendWhole(settings: Settings, call: Call): Promise<string> {
  return (await send(settings, call, false)).text ?? ''
}

/** A call whose answer is read by somebody else, at their own pace. */
export async function sendOpen(settings: Settings, call: Call): Promise<Response> {
  const { response, patience } = await send(settings, call, true)
  patience.end()
  return response
}

/** A call whose answer is read piece by piece. */
export async function* sendInPieces(settings: Settings, call: Call): AsyncGenerator<Uint8Array, void, undefined> {
  const { response, patience } = await send(settings, call, true)
  const reader = response.body?.getReader()
  try {
    for (;;) {
      const piece = await reader?.read()
      if (!piece || piece.done) return
      patience.again()
      yield piece.value
    }
  } catch (fault) {
    call.options.signal?.throwIfAborted()
    throw brokenOff(reasonOf(fault), fault)
  } finally {
    patience.end()
    // Whoever leaves early wants no more of it.
    await reader?.cancel().catch(() => undefined)
  }
}

export function brokenOff(reason: string, cause?: unknown): ConnectionFailed {
  return new ConnectionFailed('connection_failed', `The answer broke off (${reason}).`, { cause })
}

async function send(settings: Settings, call: Call, streams: boolean): Promise<Answered> {
  const { signal } = call.options
  const attempts = new Attempts(call, settings.retries)
  const request = requestOf(settings, call)
  for (;;) {
    signal?.throwIfAborted()
    const patience = new Patience(call.options.timeout ?? settings.timeout, signal)
    let answered: Answered | undefined
    let wait: number | undefined
    try {
      answered = await exchange(settings, request, streams, patience)
    } catch (fault) {
      patience.end()
      signal?.throwIfAborted()
      wait = attempts.afterFault(fault)
      if (wait === undefined) throw unanswered(settings, fault)
    }
    if (answered) {
      if (answered.response.ok) return answered
      const { status, headers } = answered.response
      wait = attempts.afterAnswer(status, headers, answered.text ?? '')
      if (wait === undefined) {
        // The DELETE whose answer was lost has done it.
        if (status === 404 && attempts.lost && call.method === 'DELETE') return { ...answered, text: '' }
        throw failure(status, headers, answered.text ?? '')
      }
    }
    await pause(wait ?? 0, signal)
  }
}

async function exchange(
  settings: Settings,
  request: [string, RequestInit],
  streams: boolean,
  patience: Patience,
): Promise<Answered> {
  const [url, init] = request
  const { fetch } = settings
  const response = await fetch(url, { ...init, signal: patience.signal })
  if (streams && response.ok) return { response, patience }
  const text = await response.text()
  patience.end()
  return { response, text, patience }
}

function requestOf(settings: Settings, call: Call): [string, RequestInit] {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (settings.apiKey) headers.Authorization = `Bearer ${settings.apiKey}`
  if (settings.user) headers['X-Keepstone-User'] = settings.user
  const init: RequestInit = { method: call.method, redirect: 'manual' }
  if (isUpload(call.body)) {
    init.body = call.body
  } else if (call.body !== undefined) {
    headers['Content-Type'] = 'application/json'
    init.body = JSON.stringify(call.body)
  }
  init.headers = { ...headers, ...call.options.headers }
  return [settings.url + call.path + asQuery(call.query), init]
}

function isUpload(body: unknown): body is FormData | Blob | ArrayBuffer | Uint8Array<ArrayBuffer> {
  return body instanceof FormData || body instanceof Blob || body instanceof ArrayBuffer || body instanceof Uint8Array
}

function unanswered(settings: Settings, fault: unknown): ConnectionFailed {
  const { location } = globalThis as { location?: { origin?: string } }
  const foreign = location?.origin && !settings.url.startsWith(location.origin)
  const hint = foreign ? ` A page of ${location.origin} needs that origin in the server's KEEPSTONE_CORS_ORIGINS.` : ''
  const message = `No answer from ${settings.url} (${reasonOf(fault)}).${hint}`
  return new ConnectionFailed('connection_failed', message, { cause: fault })
}

function reasonOf(fault: unknown): string {
  const { cause, code, message } = (fault ?? {}) as { cause?: unknown; code?: unknown; message?: unknown }
  if (typeof cause === 'object' && cause !== null) return reasonOf(cause)
  return String(code || message || fault)
}

/** Ends a call after so many milliseconds in which nothing came, or when its caller wants. */
class Patience {
  readonly #controller = new AbortController()
  readonly #milliseconds: number
  readonly #outer: AbortSignal | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(milliseconds: number, outer: AbortSignal | undefined) {
    this.#milliseconds = milliseconds
    this.#outer = outer
    outer?.addEventListener('abort', this.#ended)
    this.again()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  again(): void {
    clearTimeout(this.#timer)
    const over = () => this.#controller.abort(new Error(`nothing came for ${this.#milliseconds} ms`))
    this.#timer = setTimeout(over, this.#milliseconds)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#ended)
  }

  readonly #ended = (): void => this.#controller.abort(this.#outer?.reason)
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopped = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stopped)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stopped, { once: true })
  })
}
