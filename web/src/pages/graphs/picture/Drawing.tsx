import { Group, Text, useComputedColorScheme } from '@mantine/core'
import { useCallback, useMemo } from 'react'
import { useFormat } from '@/app/session'
import { Board, type Pen } from '@/parts/board/Board'
import { boundsOf } from '@/parts/board/camera'
import { useInk } from '@/parts/board/ink'
import { shortened } from '@/parts/board/labels'
import type { Drawn } from '../calls'
import { useGraphsWords } from '../graphs.words'
import { paintGraph } from './paint'
import { heldUntil, shownAt } from './shown'
import { useSettled } from './useSettled'

/** Nodes and edges on a canvas, held together by springs; of all that is `drawn`, what holds at a time. */
export function Drawing({
  drawn,
  types,
  at,
  past,
  chosen,
  middle,
  lit,
  onOpen,
}: {
  drawn: Drawn
  types: readonly string[]
  at: number | null
  past: boolean
  chosen: string | null
  middle: string | null
  lit: ReadonlySet<string> | null
  onOpen: (id: string) => void
}) {
  const words = useGraphsWords()
  const format = useFormat()
  const ink = useInk()
  const dark = useComputedColorScheme('light') === 'dark'
  const { places, still } = useSettled(drawn)
  const shown = useMemo(() => shownAt(drawn, at, past), [drawn, at, past])
  const nodes = useMemo(() => new Map(shown.nodes.map((node) => [node.id, node])), [shown])
  const spots = useMemo(
    () =>
      shown.nodes.flatMap(({ id }) => {
        const place = places.get(id)
        return place ? [{ id, ...place }] : []
      }),
    [shown, places],
  )
  const bounds = useMemo(() => boundsOf(places.values()), [places])
  const look = useMemo(() => {
    const found = lit && still ? [...lit].flatMap((id) => places.get(id) ?? []) : []
    return found.length ? boundsOf(found) : null
  }, [lit, still, places])
  const paint = useCallback(
    (pen: Pen) => paintGraph(pen, { drawn: shown, places, types, at, chosen, middle, lit, ink, dark }),
    [shown, places, types, at, chosen, middle, lit, ink, dark],
  )
  const tell = (id: string) => {
    const node = nodes.get(id)
    return node ? `${node.text.slice(0, 160)} · ${words('edgeCount', { count: node.degree })}` : ''
  }
  return (
    <Board
      spots={spots}
      bounds={bounds}
      look={look}
      paint={paint}
      label={`${words('pictureOf')}: ${words('nodes', { count: shown.nodes.length })}`}
      tell={tell}
      card={(id) => {
        const node = nodes.get(id)
        return (
          node && (
            <>
              <Text size="sm">{shortened(node.text, 220)}</Text>
              <Group gap={6} mt={4}>
                <Text size="xs" c="dimmed">
                  {node.node_type} · {words('edgeCount', { count: node.degree })}
                  {node.valid_to &&
                    heldUntil(node, at) &&
                    ` · ${words('until', { time: format.day(node.valid_to) })}`}
                </Text>
              </Group>
            </>
          )
        )
      }}
      onOpen={onOpen}
      onZone={onOpen}
    />
  )
}
