/** Chats with a model, which remember. */

import type { Keepstone } from '../client.js'
import type { Pages } from '../pages.js'
import type { CallOptions, Schemas, Wanted } from '../routes.js'
import { brokenOff } from '../sending.js'

type Chat = Schemas['ChatOut']
type Message = Schemas['MessageOut']
type Filter = NonNullable<Wanted<'GET', '/v1/chats'>['query']>

export interface InjectedMemory {
  id: string
  category: string | null
  relevance: number
  content: string
}

/** What comes of something that was said, in this order. Those that a newer server adds come too, and are none of these. */
export type ChatEvent =
  | { event: 'message.created'; data: { message: Message } }
  | { event: 'x_memory.injected'; data: { memories: InjectedMemory[]; capsule_ids: string[] } }
  | { event: 'message.delta'; data: { delta: string } }
  | { event: 'message.done'; data: { message: Message; usage?: Record<string, unknown> | null } }
  | { event: 'x_memory.auto_saved'; data: { memory: Schemas['MemoryOut'] } }

/** An answer: `for await` gives its events, `done()` the message that it became. One that breaks off throws. */
export class Reply implements AsyncIterable<ChatEvent> {
  readonly #events: AsyncGenerator<ChatEvent, void, undefined>

  constructor(events: AsyncGenerator<ChatEvent, void, undefined>) {
    this.#events = events
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChatEvent, void, undefined> {
    let whole = false
    for await (const event of this.#events) {
      whole ||= event.event === 'message.done'
      yield event
    }
    if (!whole) throw brokenOff('it ended before it was complete')
  }

  async done(): Promise<Message> {
    let message: Message | undefined
    for await (const event of this) if (event.event === 'message.done') message = event.data.message
    return message as Message // without one, the loop has thrown
  }
}

export class Chats {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  /** Without a workspace, in your default one. */
  create(body: Schemas['ChatIn'] = {}, options?: CallOptions): Promise<Chat> {
    return this.#client.request('POST', '/v1/chats', { body, ...options })
  }

  list(query: Omit<Filter, 'cursor'> = {}, options?: CallOptions): Pages<Chat> {
    return this.#client.pages('/v1/chats', { query, ...options })
  }

  get(chat_id: string, options?: CallOptions): Promise<Chat> {
    return this.#client.request('GET', '/v1/chats/{chat_id}', { path: { chat_id }, ...options })
  }

  /** A `workspace_id` moves the chat with its memories; null moves it to your default workspace. */
  update(chat_id: string, body: Schemas['ChatChange'], options?: CallOptions): Promise<Chat> {
    return this.#client.request('PATCH', '/v1/chats/{chat_id}', { path: { chat_id }, body, ...options })
  }

  async delete(chat_id: string, options?: CallOptions): Promise<void> {
    await this.#client.request('DELETE', '/v1/chats/{chat_id}', { path: { chat_id }, ...options })
  }

  restore(chat_id: string, options?: CallOptions): Promise<Chat> {
    return this.#client.request('POST', '/v1/chats/{chat_id}/restore', { path: { chat_id }, ...options })
  }

  /** Say something; nothing is sent before the first event is asked for. */
  say(
    chat_id: string,
    content: string,
    more: Partial<Omit<Schemas['SayIn'], 'content'>> = {},
    options?: CallOptions,
  ): Reply {
    const given = { path: { chat_id }, body: { content, ...more }, timeout: 600_000, ...options }
    const events = this.#client.events('POST', '/v1/chats/{chat_id}/messages', given)
    return new Reply(events as AsyncGenerator<ChatEvent, void, undefined>)
  }

  messages(chat_id: string, query: { limit?: number } = {}, options?: CallOptions): Pages<Message> {
    return this.#client.pages('/v1/chats/{chat_id}/messages', { path: { chat_id }, query, ...options })
  }

  /** A text, or a message of the chat, for all chats of its workspace. */
  remember(chat_id: string, body: Schemas['RememberIn'], options?: CallOptions): Promise<Schemas['SavedOut']> {
    const given = { path: { chat_id }, body, timeout: 180_000, ...options }
    return this.#client.request('POST', '/v1/chats/{chat_id}/memory', given)
  }
}
