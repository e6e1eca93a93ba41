import { Button, Center, Loader, Text } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { useRecallWords } from '../recall.words'
import { Month } from './Month'
import { byMonth, flat, type Hit } from './months'
import { Row } from './Row'
import classes from './Rows.module.css'

/** Of however many lines only those that are seen are in the page; the next page comes before its end is reached. */
export function Rows({
  items,
  ranked,
  old,
  more,
  loading,
  failed,
  onMore,
}: {
  items: Hit[]
  ranked: boolean
  old: boolean
  more: boolean
  loading: boolean
  failed: Error | null
  onMore: () => void
}) {
  const words = useRecallWords()
  const format = useFormat()
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const monthKey = useMemo(() => remembered(format.monthKey), [format])
  const lines = useMemo(
    () => (ranked ? flat(items) : byMonth(items, monthKey, closed)),
    [items, ranked, monthKey, closed],
  )
  const box = useRef<HTMLDivElement>(null)
  const top = useTop(box)
  const virtual = useWindowVirtualizer({
    count: lines.length,
    estimateSize: (index) => (lines[index]?.is === 'month' ? 52 : 104),
    getItemKey: (index) => {
      const line = lines[index]
      return line?.is === 'month' ? line.key : (line?.hit.id ?? index)
    },
    overscan: 6,
    scrollMargin: top,
  })

  // A closed month must not swallow page after page unseen: there one asks for more.
  const lastClosed = lines.at(-1)?.is === 'month'
  const { ref: end, entry } = useIntersection({ rootMargin: '800px 0px' })
  const reached = Boolean(entry?.isIntersecting)
  useEffect(() => {
    if (reached && more && !loading && !failed && !lastClosed && !old) onMore()
  }, [reached, more, loading, failed, lastClosed, old, onMore])

  return (
    <>
      <div ref={box} className={classes.box} aria-busy={old} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((at) => {
          const line = lines[at.index]
          if (!line) return null
          return (
            <div
              key={at.key}
              ref={virtual.measureElement}
              data-index={at.index}
              className={classes.line}
              style={{ transform: `translateY(${at.start - top}px)` }}
            >
              {line.is === 'month' ? (
                <Month
                  line={line}
                  more={more}
                  onToggle={() =>
                    setClosed((now) => {
                      const next = new Set(now)
                      if (!next.delete(line.key)) next.add(line.key)
                      return next
                    })
                  }
                />
              ) : (
                <Row hit={line.hit} ranked={ranked} first={line.first} last={line.last} />
              )}
            </div>
          )
        })}
      </div>
      <div ref={end} />
      <Center py="lg">
        {failed ? (
          <Failed error={failed} retry={onMore} />
        ) : loading ? (
          <Loader size="sm" type="dots" />
        ) : more ? (
          <Button variant="default" onClick={onMore}>
            {words('more')}
          </Button>
        ) : (
          items.length > 50 && (
            <Text size="sm" c="dimmed">
              {words('end')}
            </Text>
          )
        )}
      </Center>
    </>
  )
}

/** Where the list begins in the page, whatever comes and goes above it. */
function useTop(box: React.RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    const measure = () => {
      if (box.current) setTop(Math.round(box.current.getBoundingClientRect().top + window.scrollY))
    }
    measure()
    const watch = new ResizeObserver(measure)
    watch.observe(document.body)
    return () => watch.disconnect()
  }, [box])
  return top
}

/** To write a date costs microseconds, and there may be 36,000. */
function remembered(monthKey: (at: string) => string): (at: string) => string {
  const known = new Map<string, string>()
  return (at) => {
    const key = known.get(at) ?? monthKey(at)
    known.set(at, key)
    return key
  }
}
