import createClient from 'openapi-fetch'
import { lost } from './reach'
import type { components, paths } from './schema'

/** A type of the API by its name in openapi.json. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

type Told = { code?: string; message?: string; details?: unknown; upgrade_url?: string }

/** What the server refused, in its own words. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: unknown
  readonly upgradeUrl: string | undefined

  constructor(status: number, told: Told | undefined) {
    super(told?.message ?? `HTTP ${status}`)
    this.status = status
    this.code = told?.code ?? 'internal'
    this.details = told?.details
    this.upgradeUrl = told?.upgrade_url
  }
}

export const api = createClient<paths>({ headers: { accept: 'application/json' } })

// An Error that we return is thrown in the place of fetch's own, which says nothing to a person.
api.use({ onError: ({ error }) => (gaveUp(error) ? undefined : lost()) })

/** What a call of `api` answered; throws what it refused. */
export async function ok<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call
  if (!response.ok) throw refusal(response.status, error)
  return data as T
}

/** For what openapi-fetch can't do (streams, files): the response, or the refusal thrown. */
export async function send(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch((error: unknown) => {
    throw gaveUp(error) ? error : lost()
  })
  if (response.ok) return response
  throw refusal(response.status, await response.json().catch(() => undefined))
}

/** Whether we ourselves ended the request, because nobody waits for it any more. */
function gaveUp(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

function refusal(status: number, body: unknown): ApiError {
  // The price page is for everybody, also for whoever is not signed in.
  if (status === 401 && location.pathname !== '/pricing') {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`)
  }
  return new ApiError(status, (body as { error?: Told } | undefined)?.error)
}
