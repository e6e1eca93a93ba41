/**
 * Everything that a call can throw.
 *
 * KeepstoneError
 * ├── Invalid              400, 422: what was sent can't be used; `details` names each fault
 * ├── Unauthorized         401: no key, or not a good one
 * ├── PaymentRequired      402: not enough credits; nothing was charged
 * ├── Forbidden            403: known, but not allowed to do this here
 * ├── NotFound             404: not there, or not yours
 * ├── Conflict             409: the state of things does not permit it now
 * ├── TooLarge             413: more bytes than the server takes
 * ├── QuotaExceeded        429: capacity or a monthly limit is used up; `upgradeUrl` may say where there is more
 * ├── RateLimited          429: too many, too fast; `retryAfter` says for how many seconds
 * ├── ServerFault          any other 5xx
 * │   ├── UpstreamError    502: a language model or another service did not deliver
 * │   └── Unavailable      503, 504: a part of the server is down
 * ├── ConnectionFailed     there was no answer, or it broke off
 * └── UnexpectedAnswer     what answered is not Keepstone, or one that this client does not understand
 *
 * What may be repeated has been, by the time one of these is thrown.
 */

export interface Told {
  status?: number
  requestId?: string
  details?: unknown
  upgradeUrl?: string
  retryAfter?: number
  cause?: unknown
}

/** Base of the tree. `code` is stable: match on it. `message` is for people and says what to do. */
export class KeepstoneError extends Error {
  readonly code: string
  readonly status?: number
  readonly requestId?: string
  readonly details?: unknown
  readonly upgradeUrl?: string
  /** Seconds. */
  readonly retryAfter?: number

  constructor(code: string, message: string, told: Told = {}) {
    super(message, told.cause === undefined ? undefined : { cause: told.cause })
    this.name = new.target.name
    this.code = code
    this.status = told.status
    this.requestId = told.requestId
    this.details = told.details
    this.upgradeUrl = told.upgradeUrl
    this.retryAfter = told.retryAfter
  }
}

export class Invalid extends KeepstoneError {}
export class Unauthorized extends KeepstoneError {}
export class PaymentRequired extends KeepstoneError {}
export class Forbidden extends KeepstoneError {}
export class NotFound extends KeepstoneError {}
export class Conflict extends KeepstoneError {}
export class TooLarge extends KeepstoneError {}
export class QuotaExceeded extends KeepstoneError {}
export class RateLimited extends KeepstoneError {}
export class ServerFault extends KeepstoneError {}
export class UpstreamError extends ServerFault {}
export class Unavailable extends ServerFault {}
export class ConnectionFailed extends KeepstoneError {}
export class UnexpectedAnswer extends KeepstoneError {}

const BY_STATUS: Record<number, typeof KeepstoneError> = {
  400: Invalid,
  401: Unauthorized,
  402: PaymentRequired,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  413: TooLarge,
  422: Invalid,
  429: RateLimited,
  502: UpstreamError,
  503: Unavailable,
  504: Unavailable,
}

/** The error that an answer is, whose body has been read. */
export function failure(status: number, headers: Headers, text: string): KeepstoneError {
  if (status < 400) {
    return new UnexpectedAnswer('unexpected_answer', 'The server sends elsewhere: check url.', { status })
  }
  const body = objectIn(text)
  const error = held(body.error)
  const code = String(error.code ?? `http_${status}`)
  // Two things answer 429: one passes by itself, the other does not.
  const full = status === 429 && code.toLowerCase() === 'quota_exceeded'
  const kind = full ? QuotaExceeded : (BY_STATUS[status] ?? (status >= 500 ? ServerFault : KeepstoneError))
  return new kind(code, String(error.message ?? `The server answers ${status}.`), {
    status,
    requestId: word(body.request_id) ?? headers.get('x-request-id') ?? undefined,
    details: error.details ?? undefined,
    upgradeUrl: word(error.upgrade_url),
    retryAfter: retryAfter(headers),
  })
}

/** The error that an event of a stream tells of. */
export function failureIn(data: unknown): KeepstoneError {
  const error = held(held(data).error)
  return new KeepstoneError(String(error.code ?? 'error'), String(error.message ?? 'The answer failed.'))
}

/** Seconds, whether the header has a number or a date. */
export function retryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const told = headers.get('retry-after')?.trim()
  if (!told) return undefined
  if (/^\d+$/.test(told)) return Number(told)
  const then = Date.parse(told)
  return Number.isNaN(then) ? undefined : Math.max(0, (then - now) / 1000)
}

function objectIn(text: string): Record<string, unknown> {
  try {
    return held(JSON.parse(text))
  } catch {
    return {}
  }
}

function held(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function word(value: unknown): string | undefined {
  return typeof value === 'string' && value ? value : undefined
}
