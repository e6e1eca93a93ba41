/** Graphs: what agents know, as nodes and the edges between them. */

import type { Keepstone } from '../client.js'
import type { Pages } from '../pages.js'
import type { CallOptions, Schemas, Wanted } from '../routes.js'

type Graph = Schemas['GraphOut']
type Node = Schemas['NodeOut']
type NodeFilter = NonNullable<Wanted<'GET', '/v1/graphs/{graph_id}/nodes'>['query']>
type EdgeFilter = NonNullable<Wanted<'GET', '/v1/graphs/{graph_id}/edges'>['query']>
type Around = NonNullable<Wanted<'GET', '/v1/graphs/{graph_id}/nodes/{node_id}/neighbors'>['query']>

export class Graphs {
  readonly #client: Keepstone

  constructor(client: Keepstone) {
    this.#client = client
  }

  create(name: string, options?: CallOptions): Promise<Graph> {
    return this.#client.request('POST', '/v1/graphs', { body: { name }, ...options })
  }

  list(query: { deleted?: boolean; limit?: number } = {}, options?: CallOptions): Pages<Graph> {
    return this.#client.pages('/v1/graphs', { query, ...options })
  }

  get(graph_id: string, options?: CallOptions): Promise<Graph> {
    return this.#client.request('GET', '/v1/graphs/{graph_id}', { path: { graph_id }, ...options })
  }

  async delete(graph_id: string, options?: CallOptions): Promise<void> {
    await this.#client.request('DELETE', '/v1/graphs/{graph_id}', { path: { graph_id }, ...options })
  }

  /** The nodes that bear on a question, the most relevant first. */
  recall(
    graph_id: string,
    query: string,
    wanted: Partial<Omit<Schemas['GraphRecallIn'], 'query'>> = {},
    options?: CallOptions,
  ): Promise<Schemas['GraphRecallOut']> {
    const given = { path: { graph_id }, body: { query, ...wanted }, ...options }
    return this.#client.request('POST', '/v1/graphs/{graph_id}/recall', given)
  }

  addNode(
    graph_id: string,
    content: string,
    more: Partial<Omit<Schemas['NodeIn'], 'content'>> = {},
    options?: CallOptions,
  ): Promise<Schemas['StoredOut']> {
    const given = { path: { graph_id }, body: { content, ...more }, ...options }
    return this.#client.request('POST', '/v1/graphs/{graph_id}/nodes', given)
  }

  nodes(graph_id: string, query: Omit<NodeFilter, 'cursor'> = {}, options?: CallOptions): Pages<Node> {
    return this.#client.pages('/v1/graphs/{graph_id}/nodes', { path: { graph_id }, query, ...options })
  }

  node(graph_id: string, node_id: string, options?: CallOptions): Promise<Node> {
    return this.#client.request('GET', '/v1/graphs/{graph_id}/nodes/{node_id}', {
      path: { graph_id, node_id },
      ...options,
    })
  }

  updateNode(
    graph_id: string,
    node_id: string,
    body: Wanted<'PATCH', '/v1/graphs/{graph_id}/nodes/{node_id}'>['body'],
    options?: CallOptions,
  ): Promise<Node> {
    const given = { path: { graph_id, node_id }, body, ...options }
    return this.#client.request('PATCH', '/v1/graphs/{graph_id}/nodes/{node_id}', given)
  }

  async deleteNode(graph_id: string, node_id: string, options?: CallOptions): Promise<void> {
    const path = { graph_id, node_id }
    await this.#client.request('DELETE', '/v1/graphs/{graph_id}/nodes/{node_id}', { path, ...options })
  }

  /** What is connected with a node. */
  async neighbors(
    graph_id: string,
    node_id: string,
    query: Around = {},
    options?: CallOptions,
  ): Promise<Schemas['NeighborOut'][]> {
    const given = { path: { graph_id, node_id }, query, ...options }
    return (await this.#client.request('GET', '/v1/graphs/{graph_id}/nodes/{node_id}/neighbors', given)).items
  }

  addEdge(graph_id: string, body: Schemas['EdgeIn'], options?: CallOptions): Promise<Schemas['EdgeOut']> {
    return this.#client.request('POST', '/v1/graphs/{graph_id}/edges', { path: { graph_id }, body, ...options })
  }

  edges(graph_id: string, query: Omit<EdgeFilter, 'cursor'> = {}, options?: CallOptions): Pages<Schemas['EdgeOut']> {
    return this.#client.pages('/v1/graphs/{graph_id}/edges', { path: { graph_id }, query, ...options })
  }
}
