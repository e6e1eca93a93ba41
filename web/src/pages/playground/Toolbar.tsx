import { ActionIcon, Badge, Button } from '@mantine/core'
import { IconBookmarks, IconFiles, IconMessages, IconUsers } from '@tabler/icons-react'
import type { Side } from './place'
import { usePlaygroundWords } from './playground.words'

const ICON = { size: 18, stroke: 1.6, 'aria-hidden': true } as const

/** At the top right: what can be opened beside the conversation. */
export function Toolbar({
  memories,
  side,
  onSide,
  onChats,
  onShare,
  compact,
}: {
  memories: number | undefined
  side: Side | null
  onSide: (side: Side | null) => void
  onChats?: () => void
  onShare: () => void
  compact: boolean
}) {
  const words = usePlaygroundWords()
  const count = words('memoriesCount', { count: memories ?? 0 })
  const button = (of: Side | null) => ({
    variant: side === of && of ? 'light' : 'default',
    size: 'sm',
    px: compact ? 8 : 'sm',
  })
  return (
    <>
      {onChats && (
        <ActionIcon
          variant="default"
          size="lg"
          aria-label={words('showChats')}
          title={words('showChats')}
          onClick={onChats}
        >
          <IconMessages {...ICON} />
        </ActionIcon>
      )}
      <Button
        {...button('memories')}
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
        {...button('files')}
        aria-label={compact ? words('files') : undefined}
        aria-pressed={side === 'files'}
        onClick={() => onSide(side === 'files' ? null : 'files')}
        leftSection={compact ? undefined : <IconFiles {...ICON} />}
      >
        {compact ? <IconFiles {...ICON} /> : words('files')}
      </Button>
      <Button
        {...button(null)}
        aria-label={compact ? words('share') : undefined}
        onClick={onShare}
        leftSection={compact ? undefined : <IconUsers {...ICON} />}
      >
        {compact ? <IconUsers {...ICON} /> : words('share')}
      </Button>
    </>
  )
}
