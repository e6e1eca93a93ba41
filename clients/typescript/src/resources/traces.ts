/** Traces: why an answer says what it says. */

import type { Keepstone } from '../client.js'
import type { Pages } from '../pages.js'
import type { CallOptions, Schemas, Wanted } from '../routes.js'

type Filter = NonNullable<Wanted<'GET', '/v1/traces'>['query']>

export class Traces {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  list(query: Omit<Filter, 'cursor'> = {}, options?: CallOptions): Pages<Schemas['TraceLineOut']> {
    return this.#client.pages('/v1/traces', { query, ...options })
  }

  get(trace_id: string, options?: CallOptions): Promise<Schemas['TraceOut']> {
    return this.#client.request('GET', '/v1/traces/{trace_id}', { path: { trace_id }, ...options })
  }
}
