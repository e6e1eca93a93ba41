/** Stores: JSON values under a namespace and a key, found by meaning. */

import type { Keepstone } from '../client.js'
import type { Pages } from '../pages.js'
import type { CallOptions, Schemas } from '../routes.js'

type Item = Schemas['ItemOut']

export class Stores {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  list(query: { limit?: number } = {}, options?: CallOptions): Pages<Schemas['StoreOut']> {
    return this.#client.pages('/v1/stores', { query, ...options })
  }

  /**
   * Keep it; what was there stays in its history. With `if_version` only over that version (0: only if there is
   * nothing), else `Conflict`.
   */
  put(
    store: string,
    namespace: string[],
    key: string,
    value: Record<string, unknown>,
    more: Partial<Omit<Schemas['PutItemIn'], 'namespace' | 'key' | 'value'>> = {},
    options?: CallOptions,
  ): Promise<Item> {
    const given = { path: { store }, body: { namespace, key, value, ...more }, ...options }
    return this.#client.request('PUT', '/v1/stores/{store}/items', given)
  }

  get(store: string, namespace: string[], key: string, options?: CallOptions): Promise<Item> {
    return this.#client.request('GET', '/v1/stores/{store}/items', {
      path: { store },
      query: { namespace, key },
      ...options,
    })
  }

  /** Into the trash, for 30 days. */
  async delete(
    store: string,
    namespace: string[],
    key: string,
    more: { if_version?: number } = {},
    options?: CallOptions,
  ): Promise<void> {
    const given = { path: { store }, query: { namespace, key, ...more }, ...options }
    await this.#client.request('DELETE', '/v1/stores/{store}/items', given)
  }

  /** By meaning, the best first; without a query what was changed last. */
  async search(
    store: string,
    wanted: Schemas['SearchItemsIn'] = {},
    options?: CallOptions,
  ): Promise<Schemas['FoundItemOut'][]> {
    const given = { path: { store }, body: wanted, ...options }
    return (await this.#client.request('POST', '/v1/stores/{store}/search', given)).items
  }

  /** Every version, the latest first. */
  history(
    store: string,
    namespace: string[],
    key: string,
    query: { limit?: number } = {},
    options?: CallOptions,
  ): Pages<Schemas['ItemVersionOut']> {
    const given = { path: { store }, query: { namespace, key, ...query }, ...options }
    return this.#client.pages('/v1/stores/{store}/items/history', given)
  }

  /** Out of the trash, or back to an earlier version. */
  restore(
    store: string,
    namespace: string[],
    key: string,
    more: { version?: number; if_version?: number } = {},
    options?: CallOptions,
  ): Promise<Item> {
    const given = { path: { store }, body: { namespace, key, ...more }, ...options }
    return this.#client.request('POST', '/v1/stores/{store}/items/restore', given)
  }

  /** Several in one transaction and in their order. */
  async batch(
    store: string,
    operations: Schemas['BatchIn']['operations'],
    options?: CallOptions,
  ): Promise<Schemas['OutcomeOut'][]> {
    const given = { path: { store }, body: { operations }, ...options }
    return (await this.#client.request('POST', '/v1/stores/{store}/batch', given)).results
  }
}
