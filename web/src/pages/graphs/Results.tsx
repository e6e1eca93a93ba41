import { Box, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Relevance } from '@/parts/relevance/Relevance'
import { SameCall } from '@/parts/relevance/SameCall'
import { Skeletons } from '@/parts/Skeletons'
import { TraceLink } from '@/parts/TraceLink'
import { CopyId } from './CopyId'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'
import { NodeRow } from './NodeRow'
import { useFilters } from './useFilters'

const MOST = 50

/** What a question found, the most relevant first. */
export function Results({
  graph,
  question,
  chosen,
  onOpen,
  children,
}: {
  graph: string
  question: string
  chosen: string | null
  onOpen: (id: string) => void
  /** In the place of the list: another way to show those that were found. */
  children?: (found: ReadonlySet<string>) => ReactNode
}) {
  const words = useGraphsWords()
  const format = useFormat()
  const { query, raw, metadata } = useFilters()
  const body = {
    query: question,
    max_results: MOST,
    min_relevance: raw.least === '' ? 0.5 : Math.min(Math.max(Number(raw.least), 0), 1),
    ...(query.node_type && { node_type: query.node_type }),
    ...(raw.meta && metadata && { metadata_filter: metadata }),
    ...((query.start || query.end) && { time_range: { start: query.start, end: query.end } }),
    ...(query.as_of && { as_of: query.as_of }),
  }
  // Each recall counts as a query of the plan: not asked again by itself.
  const found = useQuery({
    queryKey: ['recalled', graph, body],
    queryFn: () =>
      ok(api.POST('/v1/graphs/{graph_id}/recall', { params: { path: { graph_id: graph } }, body })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  })
  const ids = useMemo(() => new Set(found.data?.results.map((one) => one.id)), [found.data])
  if (found.isPending) return <Skeletons height={76} />
  if (found.isError) return <Failed error={found.error} retry={found.refetch} />
  const { results, total, query_id, degraded, trace_id } = found.data
  return (
    <>
      <Group justify="space-between" gap="xs" aria-live="polite">
        <Text size="sm">
          {results.length ? words('found', { count: total }) : words('nothing')}
          {total > results.length && ` · ${words('shown', { count: format.number(results.length) })}`}
        </Text>
        <Group gap={4}>
          {trace_id && <TraceLink id={trace_id} />}
          <Text size="xs" c="dimmed" ml="sm">
            {words('query')}
          </Text>
          <CopyId id={query_id} />
        </Group>
      </Group>
      {degraded && <Text size="sm">{words('degraded')}</Text>}
      {results.length === 0 ? (
        <Text c="dimmed" ta="center" py="xl">
          {words('nothingAbout')}
        </Text>
      ) : children ? (
        children(ids)
      ) : (
        <ol className={classes.rows}>
          {results.map((one) => (
            <NodeRow
              key={one.id}
              node={one}
              chosen={one.id === chosen}
              onOpen={onOpen}
              beside={
                <Box pr="md">
                  <Relevance value={one.relevance} />
                </Box>
              }
            />
          ))}
        </ol>
      )}
      <SameCall path={`/v1/graphs/${graph}/recall`} body={body} />
    </>
  )
}
