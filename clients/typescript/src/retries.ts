/** When a call is sent again. */

import { failure, QuotaExceeded, retryAfter } from './errors.js'
import type { Call } from './routes.js'

/**
 * How often a call is sent again, and how many milliseconds are waited before: `base`, twice that, … but at most `cap`,
 * of which a random half is left out, so that clients that failed together don't come back together. What the server
 * asks for in Retry-After comes on top; above `patience` the error is thrown at once.
 */
export interface Retries {
  most: number
  base: number
  cap: number
  patience: number
}

export const RETRIES: Retries = { most: 2, base: 500, cap: 8_000, patience: 60_000 }

const PASSING = new Set([502, 503, 504])
// Node, Deno and Bun say why there is no answer, and the server has not seen the request. A browser does not say.
const UNSENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/
const UNSENT_IN_DENO = 'client error (Connect)'

/** What has become of one call so far. Both methods give the milliseconds to wait, or undefined: it is over. */
export class Attempts {
  /** One was sent and its answer never came. */
  lost = false
  readonly #call: Call
  readonly #retries: Retries
  #repeated = 0

  constructor(call: Call, retries: Retries) {
    this.#call = call
    this.#retries = retries
  }

  afterAnswer(status: number, headers: Headers, text: string): number | undefined {
    // A limit of requests is looked at before anything else is done, so nothing of it has happened.
    const refused = status === 429 && !(failure(status, headers, text) instanceof QuotaExceeded)
    if (!refused && !(PASSING.has(status) && this.#call.repeatable)) return undefined
    const told = (retryAfter(headers) ?? 0) * 1000
    return told <= this.#retries.patience ? this.#next(told) : undefined
  }

  afterFault(fault: unknown): number | undefined {
    const sent = !unsent(fault)
    this.lost ||= sent
    return this.#call.repeatable || !sent ? this.#next(0) : undefined
  }

  #next(told: number): number | undefined {
    if (this.#repeated >= this.#retries.most) return undefined
    const own = Math.min(this.#retries.cap, this.#retries.base * 2 ** this.#repeated)
    this.#repeated += 1
    return told + (own * (1 + Math.random())) / 2
  }
}

function unsent(fault: unknown): boolean {
  if (typeof fault !== 'object' || fault === null) return false
  const { code, message, cause, errors } = fault as {
    code?: unknown
    message?: unknown
    cause?: unknown
    errors?: unknown
  }
  if (typeof code === 'string' && UNSENT.test(code)) return true
  if (typeof message === 'string' && message.includes(UNSENT_IN_DENO)) return true
  return unsent(cause) || (Array.isArray(errors) && errors.length > 0 && errors.every(unsent))
}
