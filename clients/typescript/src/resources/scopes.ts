/** Scopes: the transcript of a conversation goes in, what bears on a new message comes out. */

import type { Keepstone } from '../client.js'
import type { Pages } from '../pages.js'
import type { CallOptions, Schemas } from '../routes.js'

type Message = Schemas['ScopeMessageOut']
type Statement = Schemas['StatementOut']
type RecallOptions = { speaker?: string; ts?: string } & Partial<Omit<Schemas['RecallIn'], 'scope_id' | 'message'>>

export class Scopes {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  /** Yours, the newest first; with `q`, those whose name has it in it. */
  list(query: { q?: string; limit?: number } = {}, options?: CallOptions): Pages<Schemas['ScopeOut']> {
    return this.#client.pages('/v1/scopes', { query, ...options })
  }

  /** Keep what was said, word for word. With an `id` of yours in each row the same again changes nothing. */
  ingest(scope_id: string, transcript: Schemas['TurnIn'][], options?: CallOptions): Promise<Schemas['IngestOut']> {
    return this.#client.request('POST', '/v1/ingest', { body: { scope_id, transcript }, ...options })
  }

  /** What bears on a new message; who speaks changes it. `max_tokens` is what `context` may take. */
  recall(
    scope_id: string,
    text: string,
    { speaker = 'user', ts, ...wanted }: RecallOptions = {},
    options?: CallOptions,
  ): Promise<Schemas['RecallOut']> {
    const body = { scope_id, message: { speaker, text, ts }, ...wanted }
    return this.#client.request('POST', '/v1/recall', { body, ...options })
  }

  /** An answer from what was said, with its evidence. */
  ask(
    scope_id: string,
    question: string,
    wanted: Partial<Omit<Schemas['AskIn'], 'scope_id' | 'question'>> = {},
    options?: CallOptions,
  ): Promise<Schemas['AskOut']> {
    const body = { scope_id, question, ...wanted }
    return this.#client.request('POST', '/v1/ask', { body, timeout: 180_000, ...options })
  }

  /** What was said, in order or backwards. */
  messages(
    scope_id: string,
    query: {
      speaker?: string
      from?: string
      to?: string
      at_message?: string
      latest_first?: boolean
      limit?: number
    } = {},
    options?: CallOptions,
  ): Pages<Message> {
    return this.#client.pages('/v1/scopes/{scope_id}/messages', { path: { scope_id }, query, ...options })
  }

  /** What is known of whom, said last first. */
  people(
    scope_id: string,
    query: { speaker?: string; superseded?: boolean; deleted?: boolean; limit?: number } = {},
    options?: CallOptions,
  ): Pages<Statement> {
    return this.#client.pages('/v1/scopes/{scope_id}/people', { path: { scope_id }, query, ...options })
  }

  /** What is so instead, or whom it is about; what it was stays in its history. */
  correct(
    scope_id: string,
    statement_id: string,
    body: { text?: string; speaker?: string },
    options?: CallOptions,
  ): Promise<Statement> {
    const path = { scope_id, statement_id }
    return this.#client.request('PATCH', '/v1/scopes/{scope_id}/people/{statement_id}', { path, body, ...options })
  }

  /** Into the trash, for 30 days. The message stays, and nothing is read out of it again. */
  async forget(scope_id: string, statement_id: string, options?: CallOptions): Promise<void> {
    const path = { scope_id, statement_id }
    await this.#client.request('DELETE', '/v1/scopes/{scope_id}/people/{statement_id}', { path, ...options })
  }

  /** Out of the trash. */
  restore(scope_id: string, statement_id: string, options?: CallOptions): Promise<Statement> {
    const path = { scope_id, statement_id }
    return this.#client.request('POST', '/v1/scopes/{scope_id}/people/{statement_id}/restore', { path, ...options })
  }
}
