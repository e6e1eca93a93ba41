import createClient from 'openapi-fetch'
import type { components, paths } from './schema'

/** A type of the API by its name in openapi.json. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

/** What the server refused, in its own words. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: unknown

  constructor(status: number, code: string, message: string, details?: unknown) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

export const api = createClient<paths>({ headers: { accept: 'application/json' } })

/** What a call of `api` answered; throws what it refused. */
export async function ok<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call
  if (!response.ok) throw refusal(response.status, error)
  return data as T
}

/** For what openapi-fetch can't do (streams, files): the response, or the refusal thrown. */
export async function send(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(path, init)
  if (response.ok) return response
  throw refusal(response.status, await response.json().catch(() => undefined))
}

function refusal(status: number, body: unknown): ApiError {
  const error = (body as { error?: { code?: string; message?: string; details?: unknown } } | undefined)
    ?.error
  // The price page is for everybody, also for whoever is not signed in.
  if (status === 401 && location.pathname !== '/pricing') {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`)
  }
  return new ApiError(status, error?.code ?? 'internal', error?.message ?? `HTTP ${status}`, error?.details)
}
