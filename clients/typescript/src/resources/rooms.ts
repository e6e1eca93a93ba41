/** Rooms, where people talk with agents; the agents; and facts, exact values under a key. */

import type { Keepstone } from '../client.js'
import type { Pages } from '../pages.js'
import type { CallOptions, Schemas, Wanted } from '../routes.js'

type Room = Schemas['RoomOut']
type Utterance = Schemas['UtteranceOut']
type Fact = Schemas['FactOut']
type MessageFilter = NonNullable<Wanted<'GET', '/v1/rooms/{room_id}/messages'>['query']>
type Place = Wanted<'GET', '/v1/facts/{scope_kind}/{scope_id}/{key}'>['path']['scope_kind']

export class Rooms {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  create(name: string, more: Partial<Omit<Schemas['RoomIn'], 'name'>> = {}, options?: CallOptions): Promise<Room> {
    return this.#client.request('POST', '/v1/rooms', { body: { name, ...more }, ...options })
  }

  list(query: { deleted?: boolean; limit?: number } = {}, options?: CallOptions): Pages<Room> {
    return this.#client.pages('/v1/rooms', { query, ...options })
  }

  get(room_id: string, options?: CallOptions): Promise<Room> {
    return this.#client.request('GET', '/v1/rooms/{room_id}', { path: { room_id }, ...options })
  }

  async delete(room_id: string, options?: CallOptions): Promise<void> {
    await this.#client.request('DELETE', '/v1/rooms/{room_id}', { path: { room_id }, ...options })
  }

  /** `user` or `agent` says it; without either, you. With an `id` of yours, the same again changes nothing. */
  say(
    room_id: string,
    text: string,
    more: Partial<Omit<Schemas['UtteranceIn'], 'text'>> = {},
    options?: CallOptions,
  ): Promise<Utterance> {
    const given = { path: { room_id }, body: { text, ...more }, ...options }
    return this.#client.request('POST', '/v1/rooms/{room_id}/messages', given)
  }

  messages(room_id: string, query: Omit<MessageFilter, 'cursor'> = {}, options?: CallOptions): Pages<Utterance> {
    return this.#client.pages('/v1/rooms/{room_id}/messages', { path: { room_id }, query, ...options })
  }

  /** A prompt for an agent, with what bears on what was said last. */
  compose(room_id: string, body: Schemas['ComposeIn'], options?: CallOptions): Promise<Schemas['ComposedOut']> {
    const given = { path: { room_id }, body, timeout: 180_000, ...options }
    return this.#client.request('POST', '/v1/rooms/{room_id}/compose', given)
  }
}

export class Agents {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  create(
    slug: string,
    name: string,
    more: Partial<Omit<Schemas['AgentIn'], 'slug' | 'name'>> = {},
    options?: CallOptions,
  ): Promise<Schemas['AgentOut']> {
    return this.#client.request('POST', '/v1/agents', { body: { slug, name, ...more }, ...options })
  }

  list(query: { limit?: number } = {}, options?: CallOptions): Pages<Schemas['AgentOut']> {
    return this.#client.pages('/v1/agents', { query, ...options })
  }
}

export class Facts {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  /** From now on; what it was stays readable. */
  put(scope_kind: Place, scope_id: string, key: string, value: unknown, options?: CallOptions): Promise<Fact> {
    const given = { path: { scope_kind, scope_id, key }, body: { value }, ...options }
    return this.#client.request('PUT', '/v1/facts/{scope_kind}/{scope_id}/{key}', given)
  }

  /** What holds, or held at a time. */
  get(
    scope_kind: Place,
    scope_id: string,
    key: string,
    query: { as_of?: string } = {},
    options?: CallOptions,
  ): Promise<Fact> {
    const given = { path: { scope_kind, scope_id, key }, query, ...options }
    return this.#client.request('GET', '/v1/facts/{scope_kind}/{scope_id}/{key}', given)
  }

  async delete(scope_kind: Place, scope_id: string, key: string, options?: CallOptions): Promise<void> {
    const path = { scope_kind, scope_id, key }
    await this.#client.request('DELETE', '/v1/facts/{scope_kind}/{scope_id}/{key}', { path, ...options })
  }
}
