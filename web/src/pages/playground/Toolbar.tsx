import { ActionIcon, Badge, Button, Text, Title } from '@mantine/core'
import { IconBookmarks, IconFiles, IconMessages } from '@tabler/icons-react'
import classes from './Playground.module.css'
import type { Side } from './place'
import { usePlaygroundWords } from './playground.words'

const ICON = { size: 18, stroke: 1.6, 'aria-hidden': true } as const

/** Above the conversation: its title, and what can be opened beside it. */
export function Toolbar({
  title,
  memories,
  side,
  onSide,
  onChats,
  compact,
}: {
  title: string
  memories: number | undefined
  side: Side | null
  onSide: (side: Side | null) => void
  onChats?: () => void
  compact: boolean
}) {
  const words = usePlaygroundWords()
  const count = words('memoriesCount', { count: memories ?? 0 })
  return (
    <div className={classes.bar}>
      {onChats && (
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={words('showChats')}
          title={words('showChats')}
          onClick={onChats}
        >
          <IconMessages {...ICON} />
        </ActionIcon>
      )}
      <div className={classes.titles}>
        <Title order={1} size="h4" flex="none">
          {words('title')}
        </Title>
        <Text size="sm" c="dimmed" truncate title={title}>
          {title}
        </Text>
      </div>
      <Button
        variant={side === 'memories' ? 'light' : 'subtle'}
        color={side === 'memories' ? undefined : 'gray'}
        size="sm"
        px={compact ? 8 : 'sm'}
        aria-label={compact ? `${words('memories')}: ${count}` : undefined}
        title={count}
        aria-pressed={side === 'memories'}
        onClick={() => onSide(side === 'memories' ? null : 'memories')}
        leftSection={<IconBookmarks {...ICON} />}
        rightSection={
          memories === undefined ? undefined : (
            <Badge size="sm" variant="default" fw={500}>
              {memories}
            </Badge>
          )
        }
      >
        {compact ? null : words('memories')}
      </Button>
      <Button
        variant={side === 'files' ? 'light' : 'subtle'}
        color={side === 'files' ? undefined : 'gray'}
        size="sm"
        px={compact ? 8 : 'sm'}
        aria-label={compact ? words('files') : undefined}
        aria-pressed={side === 'files'}
        onClick={() => onSide(side === 'files' ? null : 'files')}
        leftSection={compact ? undefined : <IconFiles {...ICON} />}
      >
        {compact ? <IconFiles {...ICON} /> : words('files')}
      </Button>
    </div>
  )
}
