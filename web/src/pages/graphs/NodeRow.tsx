import { Badge, Group, Text, UnstyledButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFormat } from '@/app/session'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'

type Shown = {
  id: string
  content: string
  node_type: string
  metadata: Record<string, unknown>
  updated_at: string
  valid_to?: string | null
}

/** One node in a list. */
export function NodeRow({
  node,
  chosen,
  onOpen,
  beside,
}: {
  node: Shown
  chosen: boolean
  onOpen: (id: string) => void
  beside?: ReactNode
}) {
  const words = useGraphsWords()
  const format = useFormat()
  const pairs = Object.entries(node.metadata)
  return (
    <li
      className={`${classes.row} ${chosen ? classes.chosen : ''}`}
      data-past={node.valid_to ? true : undefined}
    >
      <UnstyledButton
        data-row
        className={classes.open}
        onClick={() => onOpen(node.id)}
        aria-haspopup="dialog"
      >
        <Text className={classes.content} lineClamp={3}>
          {node.content}
        </Text>
        <Group gap="xs" mt={4}>
          <Badge variant="default" size="sm" tt="none" fw={500}>
            {node.node_type}
          </Badge>
          {node.valid_to && (
            <Badge variant="outline" color="gray" size="sm" tt="none" fw={500}>
              {words('superseded')}
            </Badge>
          )}
          <Text size="xs" c="dimmed">
            {format.minute(node.updated_at)}
          </Text>
          {pairs.length > 0 && (
            <span className={classes.meta}>
              {pairs
                .slice(0, 3)
                .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
                .join(' · ')
                .slice(0, 120)}
            </span>
          )}
        </Group>
      </UnstyledButton>
      {beside}
    </li>
  )
}
