import { Text, UnstyledButton } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { useChatWords } from './chat.words'
import classes from './Related.module.css'

const LONGEST = 2000

export type Attached = { id: string; title: string }

/** Capsules that have to do with what is being written; one click attaches one. */
export function Related({
  text,
  picked,
  onPick,
}: {
  text: string
  picked: string[]
  onPick: (capsule: Attached) => void
}) {
  const words = useChatWords()
  const [settled] = useDebouncedValue(text.trim().slice(-LONGEST), 350)
  const enough = sayEnough(settled) && text.trim() !== ''
  const found = useQuery({
    queryKey: ['capsules', 'related', settled],
    queryFn: () => ok(api.GET('/v1/memory/capsules/related', { params: { query: { text: settled } } })),
    enabled: enough,
    placeholderData: keepPreviousData,
  })
  const shown = enough ? (found.data?.items ?? []).filter((one) => !picked.includes(one.id)) : []
  if (shown.length === 0) return null
  return (
    <div className={classes.row} role="group" aria-label={words('related')}>
      <Text size="xs" c="dimmed" flex="none">
        {words('related')}
      </Text>
      {shown.map((one) => (
        <UnstyledButton
          key={one.id}
          className={classes.chip}
          aria-label={words('attachNamed', { title: one.title })}
          title={one.title}
          onClick={() => onPick({ id: one.id, title: one.title })}
        >
          <IconPlus size={12} stroke={2} aria-hidden />
          <span>{one.title}</span>
        </UnstyledButton>
      ))}
    </div>
  )
}

/** Three words; Chinese and Japanese write none apart, so six of their characters count as much. */
function sayEnough(text: string): boolean {
  const dense = text.match(/[\u3040-\u30ff\u3400-\u9fff]/g)?.length ?? 0
  return dense >= 6 || text.split(/\s+/).filter(Boolean).length >= 3
}
