/** Capsules: what somebody keeps on purpose. */

import type { Keepstone } from '../client.js'
import type { Pages } from '../pages.js'
import type { Answer, CallOptions, Schemas, Wanted } from '../routes.js'

type Capsule = Schemas['CapsuleOut']
type Filter = NonNullable<Wanted<'GET', '/v1/memory/capsules'>['query']>

export class Capsules {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  create(
    content_md: string,
    more: Partial<Omit<Schemas['CapsuleIn'], 'content_md'>> = {},
    options?: CallOptions,
  ): Promise<Schemas['CreatedOut']> {
    return this.#client.request('POST', '/v1/memory/capsules', { body: { content_md, ...more }, ...options })
  }

  /** One page, the best first. */
  search(
    q: string,
    query: Omit<Filter, 'q' | 'cursor'> = {},
    options?: CallOptions,
  ): Promise<Answer<'GET', '/v1/memory/capsules'>> {
    return this.#client.request('GET', '/v1/memory/capsules', { query: { q, ...query }, ...options })
  }

  /** All of them, or those that the query names, the newest first. */
  list(query: Omit<Filter, 'q' | 'cursor'> = {}, options?: CallOptions): Pages<Schemas['HitOut']> {
    return this.#client.pages('/v1/memory/capsules', { query, ...options })
  }

  get(capsule_id: string, options?: CallOptions): Promise<Capsule> {
    return this.#client.request('GET', '/v1/memory/capsules/{capsule_id}', { path: { capsule_id }, ...options })
  }

  update(
    capsule_id: string,
    body: Wanted<'PATCH', '/v1/memory/capsules/{capsule_id}'>['body'],
    options?: CallOptions,
  ): Promise<Capsule> {
    const path = { capsule_id }
    return this.#client.request('PATCH', '/v1/memory/capsules/{capsule_id}', { path, body, ...options })
  }

  /** Into the trash, for 30 days. */
  async delete(capsule_id: string, options?: CallOptions): Promise<void> {
    await this.#client.request('DELETE', '/v1/memory/capsules/{capsule_id}', { path: { capsule_id }, ...options })
  }

  restore(capsule_id: string, options?: CallOptions): Promise<Capsule> {
    const path = { capsule_id }
    return this.#client.request('POST', '/v1/memory/capsules/{capsule_id}/restore', { path, ...options })
  }

  /** Every version, the latest first. */
  async history(
    capsule_id: string,
    options?: CallOptions,
  ): Promise<Answer<'GET', '/v1/memory/capsules/{capsule_id}/history'>['items']> {
    const path = { capsule_id }
    return (await this.#client.request('GET', '/v1/memory/capsules/{capsule_id}/history', { path, ...options })).items
  }

  /** What lies in the trash. */
  trash(query: { limit?: number } = {}, options?: CallOptions): Pages<Schemas['HitOut']> {
    return this.#client.pages('/v1/memory/trash', { query, ...options })
  }
}
