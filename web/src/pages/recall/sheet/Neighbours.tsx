import { ActionIcon, Tooltip } from '@mantine/core'
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react'
import { useKeys } from '@/app/keys/keys'
import { useOrder } from '../order'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'

const ICON = { size: 18, stroke: 1.6, 'aria-hidden': true } as const

/** To the capsule before and the one after it in the list, by button or by the keys K and J. */
export function Neighbours() {
  const words = useRecallWords()
  const place = usePlace()
  const { order } = useOrder()
  const at = place.capsule ? order?.placeOf(place.capsule) : undefined
  const before = at === undefined ? undefined : order?.idAt(at - 1)
  const after = at === undefined ? undefined : order?.idAt(at + 1)
  const go = (id: string | undefined) => id && place.set({ capsule: id }, { replace: true })
  useKeys({ k: () => go(before), j: () => go(after) }, { inDialog: true })
  if (!order) return null
  const ways = [
    { id: before, key: 'K', name: 'previous', icon: <IconChevronUp {...ICON} /> },
    { id: after, key: 'J', name: 'next', icon: <IconChevronDown {...ICON} /> },
  ] as const
  return ways.map(({ id, key, name, icon }) => (
    <Tooltip key={key} label={`${words(name)} · ${key}`}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={words(name)}
        aria-keyshortcuts={key}
        data-disabled={!id || undefined}
        aria-disabled={!id}
        onClick={() => go(id)}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  ))
}
