/** The client: where it calls, as whom, and the resources on it. */

import { UnexpectedAnswer } from './errors.js'
import { eventsOf, type ServerEvent } from './events.js'
import { type Page, Pages } from './pages.js'
import { Capsules } from './resources/capsules.js'
import { Chats } from './resources/chats.js'
import { Graphs } from './resources/graphs.js'
import { Agents, Facts, Rooms } from './resources/rooms.js'
import { Scopes } from './resources/scopes.js'
import { Stores } from './resources/stores.js'
import { Traces } from './resources/traces.js'
import { Files, Memories, Workspaces } from './resources/workspaces.js'
import { RETRIES, type Retries } from './retries.js'
import {
  type Answer,
  type Call,
  type CallOptions,
  filled,
  type Given,
  type ItemOf,
  type ListPath,
  type Method,
  mayRepeat,
  type Path,
  type Schemas,
} from './routes.js'
import { type Settings, sendInPieces, sendOpen, sendWhole } from './sending.js'

export const DEFAULT_URL = 'http://127.0.0.1:8420'

export interface KeepstoneOptions {
  /** Which server. Without it the environment's KEEPSTONE_URL, else the server of this machine. */
  url?: string
  /** A key or a JWT. Without it the environment's KEEPSTONE_API_KEY. */
  apiKey?: string
  /** With a service key: the user it speaks for, by id or e-mail address. */
  user?: string
  /** Instead of the fetch of this place: for a proxy, or tests. */
  fetch?: typeof globalThis.fetch
  /** Milliseconds without a sign of the server, 60,000 by default. Calls that wait for a language model have more. */
  timeout?: number
  /** How often a call is repeated, 2 by default; or also how long is waited. */
  retries?: number | Partial<Retries>
}

/** A path's own parameters, for a route that this client does not know. */
interface Free extends CallOptions {
  query?: Record<string, unknown>
  body?: unknown
}

/** A Keepstone server, for one key. */
export class Keepstone {
  readonly agents = new Agents(this)
  readonly capsules = new Capsules(this)
  readonly chats = new Chats(this)
  readonly facts = new Facts(this)
  readonly files = new Files(this)
  readonly graphs = new Graphs(this)
  readonly memories = new Memories(this)
  readonly rooms = new Rooms(this)
  readonly scopes = new Scopes(this)
  readonly stores = new Stores(this)
  readonly traces = new Traces(this)
  readonly workspaces = new Workspaces(this)
  readonly #settings: Settings

  constructor(options: KeepstoneOptions = {}) {
    this.#settings = settle(options)
  }

  /** The same client on behalf of this user. */
  actingFor(user: string): Keepstone {
    return new Keepstone({ ...this.#settings, user })
  }

  /** Who calls, and with what. */
  me(options?: CallOptions): Promise<Answer<'GET', '/v1/me'>> {
    return this.request('GET', '/v1/me', options)
  }

  /** Over all that the caller may see, in a group for each kind. */
  find(q: string, options: { limit?: number } & CallOptions = {}): Promise<Schemas['EverythingOut']> {
    const { limit, ...rest } = options
    return this.request('GET', '/v1/find', { query: { q, limit }, ...rest })
  }

  /** Any route that answers JSON, typed by its path. */
  async request<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    ...[options]: Given<M, P>
  ): Promise<Answer<M, P>> {
    return readJson(await sendWhole(this.#settings, callOf(method, path, options))) as Answer<M, P>
  }

  /** Any list, typed by its path: `for await` goes through it. */
  pages<P extends ListPath>(path: P, ...[options]: Given<'GET', P>): Pages<ItemOf<P>> {
    const call = callOf('GET', path, options)
    return new Pages(async (cursor) => {
      const query = cursor === undefined ? call.query : { ...call.query, cursor }
      return readJson(await sendWhole(this.#settings, { ...call, query })) as Page<ItemOf<P>>
    })
  }

  /** Any route that answers with events. Nothing is sent before the first is asked for; leaving early ends the answer. */
  events<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    ...[options]: Given<M, P>
  ): AsyncGenerator<ServerEvent, void, undefined> {
    const call = callOf(method, path, options)
    call.options = { ...call.options, headers: { Accept: 'text/event-stream', ...call.options.headers } }
    return eventsOf(sendInPieces(this.#settings, call))
  }

  /** Any route: the answer itself, a success whose body nobody has read yet. For files and archives. */
  response<M extends Method, P extends Path<M>>(method: M, path: P, ...[options]: Given<M, P>): Promise<Response> {
    return sendOpen(this.#settings, callOf(method, path, options))
  }

  /** What is new on a server, before this client knows it: the path as it is sent, and no types. */
  // biome-ignore lint/suspicious/noExplicitAny: nobody knows more
  async call(method: string, path: string, options: Free = {}): Promise<any> {
    const { query, body, ...rest } = options
    const repeatable = mayRepeat(method, path, body)
    return readJson(await sendWhole(this.#settings, { method, path, query, body, repeatable, options: rest }))
  }
}

function callOf(method: string, template: string, options: object = {}): Call {
  const { path, query, body, ...rest } = options as Free & { path?: Record<string, unknown> }
  return {
    method,
    path: filled(template, path),
    query,
    body,
    repeatable: mayRepeat(method, template, body),
    options: rest,
  }
}

function readJson(text: string): unknown {
  if (!text) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new UnexpectedAnswer('unexpected_answer', 'The answer is not JSON. Does url name a Keepstone?')
  }
}

function settle(options: KeepstoneOptions): Settings {
  const url = options.url ?? environment('KEEPSTONE_URL') ?? DEFAULT_URL
  if (!/^https?:\/\/[^/?#]+/.test(url) || !URL.canParse(url)) {
    throw new TypeError(`url is ${JSON.stringify(url)}: give an address such as ${DEFAULT_URL}`)
  }
  const retries = typeof options.retries === 'number' ? { most: options.retries } : options.retries
  return {
    url: url.replace(/\/+$/, ''),
    apiKey: options.apiKey ?? environment('KEEPSTONE_API_KEY'),
    user: options.user,
    // Called as a function of its own: a browser's fetch wants no other `this`.
    fetch: options.fetch ?? ((...given) => globalThis.fetch(...given)),
    timeout: options.timeout ?? 60_000,
    retries: { ...RETRIES, ...retries },
  }
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  try {
    return process?.env?.[name] || undefined
  } catch {
    return undefined // Deno, without the permission to look
  }
}
