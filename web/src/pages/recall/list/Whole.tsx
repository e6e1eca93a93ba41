import { VisuallyHidden } from '@mantine/core'
import { useDebouncedValue, useMediaQuery } from '@mantine/hooks'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import endless from '@/parts/rows/Endless.module.css'
import { useTop } from '@/parts/rows/top'
import { Skeletons } from '@/parts/Skeletons'
import { useOrder } from '../order'
import { usePlace } from '../place'
import type { Asked } from './asked'
import { Blank } from './Blank'
import { JumpMenu } from './JumpMenu'
import { Month } from './Month'
import { lineAt, lineOf, monthOfLine } from './months'
import { Rail } from './Rail'
import { Row } from './Row'
import classes from './Rows.module.css'
import { useChoosing } from './select/choosing'
import { PAGE, read, useWhole } from './whole'

const NARROW = '(max-width: 48em)'
const MONTH = 52
const ROW = { wide: 88, narrow: 108 }
const NEAR = 4 // pages: whoever goes further at once is on the way somewhere, and asks when they are there

/** All that is asked for, as long as it is: of its rows only those that are seen are in the page, or loaded. */
export function Whole({
  asked,
  zone,
  old: searching,
  empty,
}: {
  asked: Asked
  zone: string
  old: boolean
  empty: React.ReactNode
}) {
  const place = usePlace()
  const format = useFormat()
  const { setOrder } = useOrder()
  const choosing = useChoosing()
  const narrow = useMediaQuery(NARROW, false, { getInitialValueInEffect: false })
  const row = narrow ? ROW.narrow : ROW.wide
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [seen, setSeen] = useState<readonly [number, number]>([0, 0])
  const [settled] = useDebouncedValue(seen, 90)
  const far = Math.abs(settled[0] - seen[0]) > NEAR
  const [opened, setOpened] = useState(-1) // where the open capsule stands
  const wanted = useMemo(() => {
    const [from, to] = far ? settled : seen
    const pages = new Set<number>()
    for (let page = Math.max(0, from - 1); page <= to + 1; page++) pages.add(page)
    if (opened >= 0) {
      for (const next of [opened - 1, opened, opened + 1]) pages.add(Math.max(0, Math.floor(next / PAGE)))
    }
    return [...pages]
  }, [far, settled, seen, opened])
  const { whole, ready, old, error, failed, retry } = useWhole(asked, zone, wanted, closed)
  const { months } = whole
  const box = useRef<HTMLDivElement>(null)
  const mark = useRef<HTMLDivElement>(null)
  const top = useTop(box)
  const sizes = useCallback(
    (line: number) => (lineAt(months, line)?.is === 'month' ? MONTH : row),
    [months, row],
  )
  const virtual = useWindowVirtualizer({
    count: whole.lines,
    estimateSize: sizes,
    overscan: 8,
    scrollMargin: top,
  })
  useEffect(() => virtual.measure(), [virtual, months, row])

  const items = virtual.getVirtualItems()
  const positions = items.flatMap(({ index }) => {
    const line = lineAt(months, index)
    return line?.is === 'capsule' && line.position < whole.count ? [line.position] : []
  })
  const [from, to] = [page(positions[0]), page(positions.at(-1))]
  if (positions.length > 0 && (from !== seen[0] || to !== seen[1])) setSeen([from, to])

  const at = place.capsule ? (whole.placeOf(place.capsule) ?? opened) : -1
  if (at !== opened) setOpened(at)
  const order = useMemo(
    () => ({
      placeOf: whole.placeOf,
      idAt: (position: number) => whole.at(position)?.id,
      count: whole.count,
    }),
    [whole],
  )
  useEffect(() => {
    setOrder(order)
    return () => setOrder(null)
  }, [order, setOrder])

  const { listen } = choosing
  useEffect(() => listen((client, between) => read(client, asked, zone, between)), [listen, asked, zone])

  const jump = useCallback(
    (line: number) => {
      const found = virtual.getOffsetForIndex(line, 'start')
      if (!mark.current || !found) return
      mark.current.style.top = `${offset(months, line, row)}px`
      mark.current.scrollIntoView({ block: 'start' })
    },
    [virtual, months, row],
  )
  // The row of the capsule that one has gone on to comes into sight.
  const moved = useRef(-1)
  useEffect(() => {
    if (opened >= 0 && moved.current >= 0 && opened !== moved.current)
      virtual.scrollToIndex(lineOf(months, opened), { align: 'auto' })
    moved.current = opened
  }, [opened, months, virtual])

  if (error && !ready) return <Failed error={error} retry={retry} />
  if (!ready) return <Skeletons lines={8} height={row - 8} />
  if (whole.count === 0 && !old) return empty
  const dim = old || searching
  const now = monthOfLine(
    months,
    items.find((one) => one.start + one.size > virtual.scrollOffset!)?.index ?? 0,
  )
  // The heading of the first rows may be above what is in the page: they still belong to it.
  const first = items[0] && lineAt(months, items[0].index)
  const above = first?.is === 'capsule' && monthOfLine(months, items[0]?.index ?? 0)
  const go = (key: string) => {
    const month = months.find((one) => one.key === key)
    if (month) jump(month.line)
  }
  return (
    <>
      <JumpMenu months={months} now={now?.key} onJump={go} />
      <div className={classes.split}>
        <div
          ref={box}
          className={`${endless.box} ${classes.box}`}
          aria-busy={dim}
          data-old={dim || undefined}
          style={{ height: virtual.getTotalSize() }}
        >
          <div ref={mark} className={classes.mark} />
          {above && (
            <VisuallyHidden>
              <h2>{format.month(`${above.key}-15T12:00:00Z`)}</h2>
            </VisuallyHidden>
          )}
          {items.map(({ index, start, size }) => {
            const line = lineAt(months, index)
            if (!line) return null
            const hit = line.is === 'capsule' ? whole.at(line.position) : undefined
            return (
              <div
                key={line.is === 'month' ? line.month.key : `at ${line.position}`}
                className={endless.line}
                style={{ height: size, transform: `translateY(${start - top}px)` }}
              >
                {line.is === 'month' ? (
                  <Month
                    month={line.month}
                    onToggle={() => setClosed((now) => toggled(now, line.month.key))}
                  />
                ) : hit ? (
                  <Row hit={hit} position={line.position} first={line.first} last={line.last} />
                ) : (
                  <Blank first={line.first} last={line.last} />
                )}
              </div>
            )
          })}
        </div>
        <Rail months={months} now={now?.key} onJump={go} />
      </div>
      {failed?.error && <Failed error={failed.error} retry={() => void failed.refetch()} />}
    </>
  )
}

function page(position = 0): number {
  return Math.floor(position / PAGE)
}

function offset(months: readonly { line: number }[], line: number, row: number): number {
  const headings = months.filter((month) => month.line < line).length
  return headings * MONTH + (line - headings) * row
}

function toggled(closed: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(closed)
  if (!next.delete(key)) next.add(key)
  return next
}
