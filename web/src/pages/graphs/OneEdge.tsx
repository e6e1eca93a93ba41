import { ActionIcon, Anchor, Badge, Group, Stack, Text, Tooltip } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useFormat } from '@/app/session'
import type { Edge } from './calls'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'

/** An edge of a node, to or from another. */
export function OneEdge({
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
