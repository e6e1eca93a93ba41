import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import type { Filters } from './useFilters'

export type Node = Schema<'NodeOut'>
export type Edge = Schema<'EdgeOut'>
export type Drawn = Schema<'PictureOut'>

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

export const countsQuery = (graph: string, as_of: string | undefined) =>
  queryOptions({
    queryKey: ['graphs', graph, 'counts', as_of],
    queryFn: () =>
      ok(
        api.GET('/v1/graphs/{graph_id}/counts', { params: { path: { graph_id: graph }, query: { as_of } } }),
      ),
  })

type PictureWish = Omit<Filters['query'], 'as_of' | 'deleted'> & { limit: number }

/** The nodes with the most edges that pass the filters, and the edges between them. */
export const pictureQuery = (graph: string, query: PictureWish) =>
  queryOptions({
    queryKey: ['graphs', graph, 'picture', query],
    queryFn: (): Promise<Drawn> =>
      ok(api.GET('/v1/graphs/{graph_id}/picture', { params: { path: { graph_id: graph }, query } })),
  })

/** A node and what is one or two edges away. */
export const aroundQuery = (graph: string, node: string, depth: number) =>
  queryOptions({
    queryKey: ['graphs', graph, 'around', node, depth],
    queryFn: async ({ client, signal }): Promise<Drawn> => {
      const path = { graph_id: graph, node_id: node }
      const [center, near] = await Promise.all([
        client.fetchQuery(nodeQuery(graph, node)),
        ok(
          api.GET('/v1/graphs/{graph_id}/nodes/{node_id}/neighbors', {
            params: { path, query: { depth } },
            signal,
          }),
        ),
      ])
      const nodes = new Map([center, ...near.items.map((one) => one.node)].map((one) => [one.id, one]))
      const edges = [...new Map(near.items.map((one) => [one.edge.id, one.edge])).values()]
      const degree = new Map<string, number>()
      for (const edge of edges)
        for (const id of [edge.from_id, edge.to_id]) degree.set(id, (degree.get(id) ?? 0) + 1)
      const drawn = [...nodes.values()].map((one) => ({
        ...one,
        text: one.content,
        degree: degree.get(one.id) ?? 0,
      }))
      return { nodes: drawn, edges, more: false }
    },
  })

/** After anything was changed: all that is known of graphs is asked for anew, but not of a node that is `gone`. */
export function useRefresh() {
  const client = useQueryClient()
  return (gone?: string) =>
    client.invalidateQueries({
      queryKey: ['graphs'],
      predicate: (query) => gone === undefined || !query.queryKey.includes(gone),
    })
}

/** What was superseded holds again. */
export function useRevive(graph: string) {
  const refresh = useRefresh()
  return useMutation({
    mutationFn: (id: string) =>
      ok(
        api.POST('/v1/graphs/{graph_id}/nodes/{node_id}/revive', {
          params: { path: { graph_id: graph, node_id: id } },
        }),
      ),
    onSuccess: () => refresh(),
  })
}
