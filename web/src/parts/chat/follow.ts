import { useCallback, useEffect, useRef, useState } from 'react'

const NEAR = 80
const SETTLES = 1500 // milliseconds in which what has arrived is drawn

/** Keeps a scrolled box at its end while it grows, until somebody scrolls up to read. */
export function useFollow(grows: unknown) {
  const box = useRef<HTMLDivElement>(null)
  const following = useRef(true)
  const grown = useRef(0)
  const [away, setAway] = useState(false)
  const toEnd = useCallback(() => {
    following.current = true
    setAway(false)
    box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [])
  const onScroll = useCallback(() => {
    const { current } = box
    if (!current) return
    following.current = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR
    setAway(!following.current)
  }, [])
  useEffect(() => {
    grown.current = performance.now()
    if (following.current) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [grows])
  // Markdown is drawn a little later, which moves the end too; what somebody opens does not.
  useEffect(() => {
    const inside = box.current?.firstElementChild
    if (!inside) return
    const watcher = new ResizeObserver(() => {
      const arriving = performance.now() - grown.current < SETTLES
      if (arriving && following.current) box.current?.scrollTo({ top: box.current.scrollHeight })
    })
    watcher.observe(inside)
    return () => watcher.disconnect()
  }, [])
  return { box, onScroll, away, toEnd }
}
