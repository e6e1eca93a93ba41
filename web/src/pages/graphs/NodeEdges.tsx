import { Button, Group, Stack, Switch, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { offerUndo } from '@/parts/offerUndo'
import { Skeletons } from '@/parts/Skeletons'
import { type Edge, useRefresh } from './calls'
import { useGraphsWords } from './graphs.words'
import { OneEdge } from './OneEdge'

const PAGE = 50

/** What a node hangs together with, since when, fifty at a time; on demand also what it once did. */
export function NodeEdges({
  graph,
  node,
  onOpen,
}: {
  graph: string
  node: string
  onOpen: (id: string) => void
}) {
  const words = useGraphsWords()
  const format = useFormat()
  const refresh = useRefresh()
  const [ended, setEnded] = useState(false)
  const found = useInfiniteQuery({
    queryKey: ['graphs', graph, 'edges', node, ended],
    queryFn: ({ pageParam, signal }) =>
      ok(
        api.GET('/v1/graphs/{graph_id}/nodes/{node_id}/edges', {
          params: {
            path: { graph_id: graph, node_id: node },
            query: { ended, limit: PAGE, cursor: pageParam },
          },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const again = useMutation({
    mutationFn: ({ from_id, to_id, edge_type, metadata, valid_from }: Edge) =>
      ok(
        api.POST('/v1/graphs/{graph_id}/edges', {
          params: { path: { graph_id: graph } },
          body: { from_id, to_id, edge_type, metadata, valid_from },
        }),
      ),
    onSuccess: () => refresh(),
  })
  const end = useMutation({
    mutationFn: (edge: Edge) =>
      ok(
        api.DELETE('/v1/graphs/{graph_id}/edges/{edge_id}', {
          params: { path: { graph_id: graph, edge_id: edge.id } },
        }),
      ),
    onSuccess: async (_, edge) => {
      await refresh()
      offerUndo(words('wasEnded', { type: edge.edge_type }), words('undo'), () => again.mutate(edge))
    },
  })
  const edges = found.data?.pages.flatMap((page) => page.items) ?? []
  const over = (edge: Edge) => edge.valid_to !== null && Date.parse(edge.valid_to) <= Date.now()
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={3} size="h5">
          {words('edges')}
          {edges.length > 0 && (
            <Text span c="dimmed" size="sm" ml={6}>
              {format.number(edges.length)}
              {found.hasNextPage && '+'}
            </Text>
          )}
        </Title>
        <Switch
          size="xs"
          label={words('showEnded')}
          checked={ended}
          onChange={(event) => setEnded(event.currentTarget.checked)}
        />
      </Group>
      {found.isPending && <Skeletons lines={2} height={64} />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && edges.length === 0 && (
        <Text size="sm" c="dimmed">
          {words('noEdges')}
        </Text>
      )}
      <Stack gap="xs">
        {edges.map(({ edge, node: other }) => (
          <OneEdge
            key={edge.id}
            edge={edge}
            outgoing={edge.from_id === node}
            other={other.content}
            onOpen={() => onOpen(other.id)}
            onEnd={over(edge) ? undefined : () => end.mutate(edge)}
          />
        ))}
        {found.hasNextPage && (
          <Button
            variant="default"
            size="compact-sm"
            style={{ alignSelf: 'center' }}
            loading={found.isFetchingNextPage}
            onClick={() => found.fetchNextPage()}
          >
            {words('moreEdges', { count: PAGE })}
          </Button>
        )}
      </Stack>
    </section>
  )
}
