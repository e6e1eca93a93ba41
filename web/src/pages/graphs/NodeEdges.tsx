import { ActionIcon, Anchor, Badge, Group, Stack, Switch, Text, Title, Tooltip } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { type Edge, neighborsQuery, useRefresh } from './calls'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'

/** What a node hangs together with, since when; on demand also what it once did. */
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
  const refresh = useRefresh()
  const [ended, setEnded] = useState(false)
  const near = useQuery(neighborsQuery(graph, node, 1))
  const all = useQuery({
    queryKey: ['graphs', graph, 'edges'],
    queryFn: () =>
      ok(
        api.GET('/v1/graphs/{graph_id}/edges', {
          params: { path: { graph_id: graph }, query: { limit: 200 } },
        }),
      ),
    enabled: ended,
  })
  const end = useMutation({
    mutationFn: (id: string) =>
      ok(
        api.DELETE('/v1/graphs/{graph_id}/edges/{edge_id}', {
          params: { path: { graph_id: graph, edge_id: id } },
        }),
      ),
    onSuccess: () => refresh(),
  })
  const over = (all.data?.items ?? []).filter(
    (one) =>
      (one.from_id === node || one.to_id === node) && one.valid_to && Date.parse(one.valid_to) <= Date.now(),
  )
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={3} size="h5">
          {words('edges')}
        </Title>
        <Switch
          size="xs"
          label={words('showEnded')}
          checked={ended}
          onChange={(event) => setEnded(event.currentTarget.checked)}
        />
      </Group>
      {near.isError && <Failed error={near.error} retry={near.refetch} />}
      {near.data?.items.length === 0 && over.length === 0 && (
        <Text size="sm" c="dimmed">
          {words('noEdges')}
        </Text>
      )}
      <Stack gap="xs">
        {near.data?.items.map(({ edge, node: other }) => (
          <OneEdge
            key={edge.id}
            edge={edge}
            outgoing={edge.from_id === node}
            other={other.content}
            onOpen={() => onOpen(other.id)}
            onEnd={() => end.mutate(edge.id)}
          />
        ))}
        {ended &&
          over.map((edge) => {
            const other = edge.from_id === node ? edge.to_id : edge.from_id
            return (
              <OneEdge
                key={edge.id}
                edge={edge}
                outgoing={edge.from_id === node}
                other={`${other.slice(0, 14)}…`}
                onOpen={() => onOpen(other)}
              />
            )
          })}
      </Stack>
    </section>
  )
}

function OneEdge({
  edge,
  outgoing,
  other,
  onOpen,
  onEnd,
}: {
  edge: Edge
  outgoing: boolean
  other: string
  onOpen: () => void
  onEnd?: () => void
}) {
  const words = useGraphsWords()
  const format = useFormat()
  return (
    <Group className={classes.edge} wrap="nowrap" justify="space-between" align="flex-start">
      <Stack gap={2} miw={0}>
        <Text size="sm">
          <Text span fw={600} size="sm">
            {edge.edge_type}
          </Text>{' '}
          {words(outgoing ? 'outgoing' : 'incoming')}{' '}
          <Anchor component="button" type="button" size="sm" ta="left" onClick={onOpen}>
            {other.length > 140 ? `${other.slice(0, 140)}…` : other}
          </Anchor>
        </Text>
        <Group gap={6}>
          {!onEnd && (
            <Badge size="xs" variant="outline" color="gray" tt="none">
              {words('ended')}
            </Badge>
          )}
          <Text size="xs" c="dimmed">
            {words('since', { time: format.minute(edge.valid_from) })}
            {edge.valid_to && ` ${words('until', { time: format.minute(edge.valid_to) })}`}
          </Text>
        </Group>
      </Stack>
      {onEnd && (
        <Tooltip label={words('endEdge')}>
          <ActionIcon
            variant="subtle"
            color="gray"
            onClick={onEnd}
            aria-label={`${words('endEdge')}: ${edge.edge_type}`}
          >
            <IconX size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
      )}
    </Group>
  )
}
