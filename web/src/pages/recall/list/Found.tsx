import { Button, Center, Loader } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import { Failed } from '@/parts/Failed'
import { useOrder } from '../order'
import { useRecallWords } from '../recall.words'
import type { Hit } from './months'
import { Row } from './Row'
import classes from './Rows.module.css'
import { useChoosing } from './select/choosing'
import { useTop } from './top'

const ROW = 108

/** What a search found, the best first; the next page comes before its end is reached. */
export function Found({
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
  const { setOrder } = useOrder()
  const { listen } = useChoosing()
  const box = useRef<HTMLDivElement>(null)
  const top = useTop(box)
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => ROW,
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 6,
    scrollMargin: top,
  })
  const order = useMemo(
    () => ({
      placeOf: (id: string) => {
        const place = items.findIndex((one) => one.id === id)
        return place < 0 ? undefined : place
      },
      idAt: (position: number) => items[position]?.id,
      count: items.length,
    }),
    [items],
  )
  useEffect(() => {
    setOrder(order)
    return () => setOrder(null)
  }, [order, setOrder])
  useEffect(() => listen(async (_, [from, to]) => items.slice(from, to + 1)), [listen, items])

  const { ref: end, entry } = useIntersection({ rootMargin: '800px 0px' })
  const reached = Boolean(entry?.isIntersecting)
  useEffect(() => {
    if (reached && more && !loading && !failed && !old) onMore()
  }, [reached, more, loading, failed, old, onMore])

  return (
    <>
      <div
        ref={box}
        className={classes.box}
        aria-busy={old}
        data-old={old || undefined}
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(({ key, index, start, size }) => {
          const hit = items[index]
          return (
            hit && (
              <div
                key={key}
                className={classes.line}
                style={{ height: size, transform: `translateY(${start - top}px)` }}
              >
                <Row
                  hit={hit}
                  position={index}
                  ranked={ranked}
                  first={index === 0}
                  last={index === items.length - 1}
                />
              </div>
            )
          )
        })}
      </div>
      <div ref={end} />
      <Center py={failed || loading || more ? 'lg' : 0}>
        {failed ? (
          <Failed error={failed} retry={onMore} />
        ) : loading ? (
          <Loader size="sm" type="dots" />
        ) : (
          more && (
            <Button variant="default" onClick={onMore}>
              {words('showMore')}
            </Button>
          )
        )}
      </Center>
    </>
  )
}
