import { useReducedMotion } from '@mantine/hooks'
import { useEffect, useRef, useState } from 'react'
import type { Drawn } from '../calls'
import { type Place, settling } from './forces'

const SLICE = 12 // ms of work between two frames

export type Places = ReadonlyMap<string, Place>

/** The place of each node, worked out between frames, so that the page answers meanwhile. What was drawn before stays
 * about where it was. `still` says that nothing moves any more. */
export function useSettled(drawn: Drawn): { places: Places; still: boolean } {
  const calm = useReducedMotion()
  const before = useRef<Places>(new Map())
  const [found, setFound] = useState<{ places: Places; still: boolean; of: Drawn | null }>({
    places: new Map(),
    still: false,
    of: null,
  })
  useEffect(() => {
    const index = new Map(drawn.nodes.map((node, place) => [node.id, place]))
    const links = drawn.edges.flatMap((edge) => {
      const [from, to] = [index.get(edge.from_id), index.get(edge.to_id)]
      return from === undefined || to === undefined || from === to ? [] : [[from, to] as const]
    })
    const work = settling(
      drawn.nodes.map((node) => before.current.get(node.id)),
      links,
    )
    let frame = 0
    const step = () => {
      const end = performance.now() + SLICE
      let latest: Place[] | undefined
      let over = false
      do {
        const next = work.next()
        if (next.done) over = true
        else latest = next.value
      } while (!over && performance.now() < end)
      if (latest && (over || !calm)) {
        const places = new Map(drawn.nodes.map((node, place) => [node.id, { ...(latest[place] as Place) }]))
        before.current = places
        setFound({ places, still: over, of: drawn })
      } else if (over) setFound((last) => ({ ...last, still: true }))
      if (!over) frame = requestAnimationFrame(step)
    }
    frame = requestAnimationFrame(step)
    return () => cancelAnimationFrame(frame)
  }, [drawn, calm])
  return found.of === drawn ? found : { places: before.current, still: false }
}
