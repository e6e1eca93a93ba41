import { ActionIcon, Group, Text, TextInput } from '@mantine/core'
import { IconChevronLeft, IconChevronRight, IconSearch } from '@tabler/icons-react'
import { useFormat } from '@/app/session'
import { useRecallWords } from '../recall.words'
import classes from './Constellation.module.css'

/** A question to the map; Enter goes from one star that was found to the next. */
export function Search({
  question,
  found,
  walked,
  onAsk,
  onWalk,
}: {
  question: string
  found: number | null
  /** The number of the one that is looked at, from 0; -1 is none. */
  walked: number
  onAsk: (question: string) => void
  onWalk: (steps: 1 | -1) => void
}) {
  const words = useRecallWords()
  const format = useFormat()
  return (
    <Group gap="xs" className={classes.search} role="search">
      <TextInput
        type="search"
        className={classes.question}
        aria-label={words('mapSearch')}
        placeholder={words('mapSearch')}
        leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
        value={question}
        onChange={(event) => onAsk(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onWalk(event.shiftKey ? -1 : 1)
          else if (event.key === 'Escape') onAsk('')
          else return
          event.preventDefault()
        }}
      />
      <Text size="sm" c="dimmed" className={classes.count} role="status">
        {found !== null &&
          (walked >= 0
            ? words('mapWalked', { number: format.number(walked + 1), count: format.number(found) })
            : words('mapFound', { count: found }))}
      </Text>
      {found !== null && found > 0 && (
        <Group gap={4} wrap="nowrap">
          <ActionIcon variant="default" aria-label={words('mapBack')} onClick={() => onWalk(-1)}>
            <IconChevronLeft size={16} stroke={1.6} aria-hidden />
          </ActionIcon>
          <ActionIcon variant="default" aria-label={words('mapOn')} onClick={() => onWalk(1)}>
            <IconChevronRight size={16} stroke={1.6} aria-hidden />
          </ActionIcon>
        </Group>
      )}
    </Group>
  )
}
