import { Text, Timeline, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'

/** What a node was, version by version. */
export function NodeHistory({ graph, node }: { graph: string; node: string }) {
  const words = useGraphsWords()
  const format = useFormat()
  const found = useQuery({
    queryKey: ['graphs', graph, 'history', node],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/v1/graphs/{graph_id}/nodes/{node_id}/history', {
          params: { path: { graph_id: graph, node_id: node } },
          signal,
        }),
      ),
  })
  return (
    <section>
      <Title order={3} size="h5" mb="sm">
        {words('history')}
      </Title>
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      <Timeline bulletSize={12} lineWidth={2}>
        {found.data?.items.map((one) => (
          <Timeline.Item key={one.version} title={words('version', { number: one.version })}>
            <Text size="xs" c="dimmed">
              {one.change} · {format.minute(one.changed_at)}
            </Text>
            <Text size="sm" className={classes.content} lineClamp={6}>
              {one.content}
            </Text>
            {Object.keys(one.metadata).length > 0 && (
              <span className={classes.meta}>{JSON.stringify(one.metadata)}</span>
            )}
          </Timeline.Item>
        ))}
      </Timeline>
    </section>
  )
}
