/** What each route takes and gives, as types, and which calls may be sent twice. */

import type { components, paths } from './schema.js'

export type Schemas = components['schemas']
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The paths that have this method. */
export type Path<M extends Method> = {
  [P in keyof paths]: Lowercase<M> extends keyof paths[P] ? P : never
}[keyof paths]

type Operation<M extends Method, P extends Path<M>> = paths[P][Lowercase<M> & keyof paths[P]]

type Parameters<O> = O extends { parameters: infer Q } ? Q : object
type Body<O> = O extends { requestBody: { content: infer C } }
  ? { body: Content<C> }
  : O extends { requestBody?: { content: infer C } }
    ? 'requestBody' extends keyof O
      ? { body?: Content<C> }
      : object
    : object
type Content<C> = C extends { 'application/json': infer J } ? J : Upload

/** A file, or a form with one: `new FormData()` with a `Blob` in it. */
export type Upload = FormData | Blob | ArrayBuffer | Uint8Array<ArrayBuffer>

/** For any call. */
export interface CallOptions {
  /** Ends the call; what it throws then is the signal's reason. */
  signal?: AbortSignal
  /** Milliseconds without a sign of the server. */
  timeout?: number
  headers?: Record<string, string>
}

/** What a route wants: `path`, `query` and `body`, as far as it has them. */
export type Wanted<M extends Method, P extends Path<M>> = Parameters<Operation<M, P>> & Body<Operation<M, P>>

/** The options of a call; they may be left out where the route wants nothing. */
export type Given<M extends Method, P extends Path<M>> =
  object extends Wanted<M, P> ? [options?: Wanted<M, P> & CallOptions] : [options: Wanted<M, P> & CallOptions]

type Success<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 202 | 204)] : never
type Json<S> = S extends { content: { 'application/json': infer J } } ? J : undefined

/** The JSON that a route answers; undefined where it answers none. */
export type Answer<M extends Method, P extends Path<M>> = Json<Success<Operation<M, P>>>

/** The paths of lists, and what is in them. */
export type ListPath = {
  [P in Path<'GET'>]: Answer<'GET', P> extends { items: unknown[]; next_cursor?: string | null } ? P : never
}[Path<'GET'>]
export type ItemOf<P extends ListPath> = Answer<'GET', P> extends { items: (infer T)[] } ? T : never

/** What is sent, without its types. */
export interface Call {
  method: string
  path: string
  query?: Record<string, unknown>
  body?: unknown
  repeatable: boolean
  options: CallOptions
}

const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
// These only look, or come to the same when they come twice.
const HARMLESS =
  /^POST \/v1\/(recall|memory\/(import|capsules\/(alike|title|curate))|graphs\/\{graph_id\}\/recall|stores\/\{store\}\/(search|namespaces))$|^POST .*\/revive$|^PATCH .*\/people\/\{statement_id\}$/

/** May it be sent again when nobody knows what became of the first? */
export function mayRepeat(method: string, path: string, body: unknown): boolean {
  const held = (body ?? {}) as Record<string, unknown>
  switch (`${method} ${path}`) {
    case 'POST /v1/ingest':
      return each(held.transcript, (row) => Boolean(row.id))
    case 'POST /v1/rooms/{room_id}/messages':
    case 'POST /v1/dms/{slug}/messages':
      return Boolean(held.id)
    case 'PUT /v1/stores/{store}/items':
      return held.if_version === undefined || held.if_version === null
    case 'POST /v1/stores/{store}/batch':
      return each(held.operations, (one) => !('if_version' in one))
  }
  return IDEMPOTENT.has(method) || HARMLESS.test(`${method} ${path}`)
}

function each(rows: unknown, holds: (row: Record<string, unknown>) => boolean): boolean {
  return Array.isArray(rows) && rows.every(holds)
}

/** A path with its parameters in it. Whatever one holds, it stays one piece. */
export function filled(template: string, values: Record<string, unknown> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(values[name] ?? '')
    // An address knows no piece of this name, however it is written.
    if (['', '.', '..'].includes(value)) throw new TypeError(`${name} is ${JSON.stringify(value)}: give another`)
    return encodeURIComponent(value)
  })
}

/** Parameters as they travel: what is undefined or null is left out, a list is there once for each of its items. */
export function asQuery(values: Record<string, unknown> = {}): string {
  const found = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) found.append(name, one instanceof Date ? one.toISOString() : String(one))
    }
  }
  const text = found.toString()
  return text && `?${text}`
}
