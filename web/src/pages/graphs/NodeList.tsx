import { Button, Center, Text } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { useRefresh, useRevive } from './calls'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'
import { NodeRow } from './NodeRow'
import { useFilters } from './useFilters'

/** The nodes of a graph, the newest first, under the filters. */
export function NodeList({
  graph,
  chosen,
  onOpen,
}: {
  graph: string
  chosen: string | null
  onOpen: (id: string) => void
}) {
  const words = useGraphsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const { query } = useFilters()
  const found = useInfiniteQuery({
    queryKey: ['graphs', graph, 'nodes', query],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/v1/graphs/{graph_id}/nodes', {
          params: { path: { graph_id: graph }, query: { ...query, limit: 50, cursor: pageParam } },
        }),
      ),
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const revive = useRevive(graph)
  const restore = useMutation({
    mutationFn: (id: string) =>
      ok(
        api.POST('/v1/graphs/{graph_id}/nodes/{node_id}/restore', {
          params: { path: { graph_id: graph, node_id: id } },
        }),
      ),
    onSuccess: () => refresh(),
  })
  if (found.isPending) return <Skeletons height={76} />
  if (found.isError) return <Failed error={found.error} retry={found.refetch} />
  const nodes = found.data.pages.flatMap((page) => page.items)
  if (!nodes.length)
    return (
      <Text c="dimmed" ta="center" py="xl">
        {words('noneListed')}
      </Text>
    )
  return (
    <>
      <ul className={classes.rows}>
        {nodes.map((node) => (
          <NodeRow
            key={node.id}
            node={node}
            chosen={node.id === chosen}
            onOpen={node.deleted_at ? () => undefined : onOpen}
            beside={
              node.deleted_at ? (
                <Button
                  size="xs"
                  variant="default"
                  mr="sm"
                  loading={restore.isPending && restore.variables === node.id}
                  onClick={() => restore.mutate(node.id)}
                >
                  {words('restore')}
                </Button>
              ) : (
                node.superseded_by &&
                !query.as_of && (
                  <Button
                    size="xs"
                    variant="default"
                    mr="sm"
                    loading={revive.isPending && revive.variables === node.id}
                    onClick={() => revive.mutate(node.id)}
                  >
                    {words('revive')}
                  </Button>
                )
              )
            }
          />
        ))}
      </ul>
      {found.hasNextPage && (
        <Center>
          <Button variant="default" loading={found.isFetchingNextPage} onClick={() => found.fetchNextPage()}>
            {frame('more')}
          </Button>
        </Center>
      )}
    </>
  )
}
