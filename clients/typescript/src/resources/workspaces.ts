/** Workspaces: chats that share one memory, with their files. */

import type { Keepstone } from '../client.js'
import type { Pages } from '../pages.js'
import type { Answer, CallOptions, Schemas, Wanted } from '../routes.js'

type Workspace = Schemas['WorkspaceOut']
type Memory = Schemas['MemoryOut']
type Document = Schemas['DocumentOut']
type Asked = Wanted<'GET', '/v1/workspaces/{workspace_id}/search'>['query']

export class Workspaces {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  create(name: string, options?: CallOptions): Promise<Workspace> {
    return this.#client.request('POST', '/v1/workspaces', { body: { name }, ...options })
  }

  list(query: { deleted?: boolean; limit?: number } = {}, options?: CallOptions): Pages<Workspace> {
    return this.#client.pages('/v1/workspaces', { query, ...options })
  }

  get(workspace_id: string, options?: CallOptions): Promise<Workspace> {
    return this.#client.request('GET', '/v1/workspaces/{workspace_id}', { path: { workspace_id }, ...options })
  }

  rename(workspace_id: string, name: string, options?: CallOptions): Promise<Workspace> {
    const given = { path: { workspace_id }, body: { name }, ...options }
    return this.#client.request('PATCH', '/v1/workspaces/{workspace_id}', given)
  }

  /** Into the trash, for 30 days, with all that is in it. */
  async delete(workspace_id: string, options?: CallOptions): Promise<void> {
    await this.#client.request('DELETE', '/v1/workspaces/{workspace_id}', { path: { workspace_id }, ...options })
  }

  restore(workspace_id: string, options?: CallOptions): Promise<Workspace> {
    return this.#client.request('POST', '/v1/workspaces/{workspace_id}/restore', { path: { workspace_id }, ...options })
  }

  /** Over memories, documents, artifacts and messages of chats, the best first. */
  search(
    workspace_id: string,
    q: string,
    query: Omit<Asked, 'q'> = {},
    options?: CallOptions,
  ): Promise<Schemas['ResultList']> {
    const given = { path: { workspace_id }, query: { q, ...query }, ...options }
    return this.#client.request('GET', '/v1/workspaces/{workspace_id}/search', given)
  }
}

/** What is remembered of the chats of a workspace. */
export class Memories {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  create(
    workspace_id: string,
    content: string,
    more: Partial<Omit<Schemas['MemoryIn'], 'content'>> = {},
    options?: CallOptions,
  ): Promise<Schemas['SavedOut']> {
    const given = { path: { workspace_id }, body: { content, ...more }, ...options }
    return this.#client.request('POST', '/v1/workspaces/{workspace_id}/memories', given)
  }

  list(
    workspace_id: string,
    query: { deleted?: boolean; superseded?: boolean; limit?: number } = {},
    options?: CallOptions,
  ): Pages<Memory> {
    return this.#client.pages('/v1/workspaces/{workspace_id}/memories', { path: { workspace_id }, query, ...options })
  }

  get(workspace_id: string, memory_id: string, options?: CallOptions): Promise<Memory> {
    const path = { workspace_id, memory_id }
    return this.#client.request('GET', '/v1/workspaces/{workspace_id}/memories/{memory_id}', { path, ...options })
  }

  update(workspace_id: string, memory_id: string, content: string, options?: CallOptions): Promise<Memory> {
    const given = { path: { workspace_id, memory_id }, body: { content }, ...options }
    return this.#client.request('PATCH', '/v1/workspaces/{workspace_id}/memories/{memory_id}', given)
  }

  async delete(workspace_id: string, memory_id: string, options?: CallOptions): Promise<void> {
    const path = { workspace_id, memory_id }
    await this.#client.request('DELETE', '/v1/workspaces/{workspace_id}/memories/{memory_id}', { path, ...options })
  }

  restore(workspace_id: string, memory_id: string, options?: CallOptions): Promise<Memory> {
    const given = { path: { workspace_id, memory_id }, ...options }
    return this.#client.request('POST', '/v1/workspaces/{workspace_id}/memories/{memory_id}/restore', given)
  }

  /** Every version, the latest first. */
  async history(
    workspace_id: string,
    memory_id: string,
    options?: CallOptions,
  ): Promise<Answer<'GET', '/v1/workspaces/{workspace_id}/memories/{memory_id}/history'>['items']> {
    const given = { path: { workspace_id, memory_id }, ...options }
    return (await this.#client.request('GET', '/v1/workspaces/{workspace_id}/memories/{memory_id}/history', given))
      .items
  }
}

export class Files {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  /** The same name again is another version of the file. */
  upload(
    workspace_id: string,
    name: string,
    content: Blob | string | Uint8Array<ArrayBuffer>,
    options?: CallOptions,
  ): Promise<Schemas['UploadedOut']> {
    const body = new FormData()
    body.append('file', content instanceof Blob ? content : new Blob([content]), name)
    const given = { path: { workspace_id }, body, timeout: 600_000, ...options }
    return this.#client.request('POST', '/v1/workspaces/{workspace_id}/files', given)
  }

  list(
    workspace_id: string,
    query: { deleted?: boolean; limit?: number } = {},
    options?: CallOptions,
  ): Pages<Document> {
    return this.#client.pages('/v1/workspaces/{workspace_id}/files', { path: { workspace_id }, query, ...options })
  }

  /** Its bytes, as they come. */
  content(workspace_id: string, document_id: string, options?: CallOptions): Promise<Response> {
    const given = { path: { workspace_id, document_id }, ...options }
    return this.#client.response('GET', '/v1/workspaces/{workspace_id}/files/{document_id}/content', given)
  }

  async delete(workspace_id: string, document_id: string, options?: CallOptions): Promise<void> {
    const path = { workspace_id, document_id }
    await this.#client.request('DELETE', '/v1/workspaces/{workspace_id}/files/{document_id}', { path, ...options })
  }
}
