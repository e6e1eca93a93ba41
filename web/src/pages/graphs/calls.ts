import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import type { Filters } from './useFilters'

export type Node = Schema<'NodeOut'>
export type Edge = Schema<'EdgeOut'>
export type Drawn = { nodes: Node[]; edges: Edge[]; more: boolean }

const DRAWN = 400
const PAGE = 200

export const graphsQuery = (deleted: boolean) =>
  queryOptions({
    queryKey: ['graphs', 'list', deleted],
    queryFn: () => ok(api.GET('/v1/graphs', { params: { query: { limit: 200, deleted } } })),
  })

export const nodeQuery = (graph: string, node: string) =>
  queryOptions({
    queryKey: ['graphs', graph, 'node', node],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/v1/graphs/{graph_id}/nodes/{node_id}', {
          params: { path: { graph_id: graph, node_id: node } },
          signal,
        }),
      ),
  })

export const neighborsQuery = (graph: string, node: string, depth: number) =>
  queryOptions({
    queryKey: ['graphs', graph, 'neighbors', node, depth],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/v1/graphs/{graph_id}/nodes/{node_id}/neighbors', {
          params: { path: { graph_id: graph, node_id: node }, query: { depth } },
          signal,
        }),
      ),
  })

/** The newest few hundred nodes that pass the filters, and the edges between them that hold. */
export const drawnQuery = (graph: string, filters: Filters) =>
  queryOptions({
    queryKey: ['graphs', graph, 'drawn', filters.query],
    queryFn: async (): Promise<Drawn> => {
      const nodes = await gather(DRAWN, (cursor) =>
        ok(
          api.GET('/v1/graphs/{graph_id}/nodes', {
            params: { path: { graph_id: graph }, query: { ...filters.query, limit: PAGE, cursor } },
          }),
        ),
      )
      const edges = await gather(2 * DRAWN, (cursor) =>
        ok(
          api.GET('/v1/graphs/{graph_id}/edges', {
            params: { path: { graph_id: graph }, query: { limit: PAGE, cursor } },
          }),
        ),
      )
      const known = new Set(nodes.items.map((one) => one.id))
      const at = filters.query.as_of ? Date.parse(filters.query.as_of) : Date.now()
      return {
        nodes: nodes.items,
        edges: edges.items.filter(
          (one) => known.has(one.from_id) && known.has(one.to_id) && holdsAt(one, at),
        ),
        more: nodes.more,
      }
    },
  })

/** A node and what is one or two edges away. */
export const aroundQuery = (graph: string, node: string, depth: number) =>
  queryOptions({
    queryKey: ['graphs', graph, 'around', node, depth],
    queryFn: async ({ client }): Promise<Drawn> => {
      const [center, near] = await Promise.all([
        client.fetchQuery(nodeQuery(graph, node)),
        client.fetchQuery(neighborsQuery(graph, node, depth)),
      ])
      const nodes = new Map([
        [center.id, center],
        ...near.items.map((one) => [one.node.id, one.node] as const),
      ])
      const edges = new Map(near.items.map((one) => [one.edge.id, one.edge]))
      return { nodes: [...nodes.values()], edges: [...edges.values()], more: false }
    },
  })

export function holdsAt(edge: Edge, at: number): boolean {
  return Date.parse(edge.valid_from) <= at && (edge.valid_to === null || Date.parse(edge.valid_to) > at)
}

type Paged<Item> = { items: Item[]; next_cursor: string | null }

async function gather<Item>(most: number, page: (cursor?: string) => Promise<Paged<Item>>) {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const found: Paged<Item> = await page(cursor)
    items.push(...found.items)
    cursor = found.next_cursor ?? undefined
  } while (cursor && items.length < most)
  return { items, more: cursor !== undefined }
}

/** After anything was changed: all that is known of graphs is asked for anew, but not of a node that is `gone`. */
export function useRefresh() {
  const client = useQueryClient()
  return (gone?: string) =>
    client.invalidateQueries({
      queryKey: ['graphs'],
      predicate: (query) => gone === undefined || !query.queryKey.includes(gone),
    })
}
