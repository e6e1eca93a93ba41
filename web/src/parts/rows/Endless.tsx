import { Button, Center, Loader } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { Failed } from '@/parts/Failed'
import classes from './Endless.module.css'
import { useEndlessWords } from './Endless.words'
import { useTop } from './top'

export type Pages = {
  /** What is shown answers an earlier question; the next answer is on its way. */
  old: boolean
  more: boolean
  loading: boolean
  failed: Error | null
  onMore: () => void
}

/** As many rows as are in sight, however long the list is; the next page comes before its end is reached. */
export function Endless<Item extends { id: string }>({
  items,
  height,
  label,
  old,
  more,
  loading,
  failed,
  onMore,
  children,
}: Pages & {
  items: Item[]
  height: number
  label?: string
  children: (item: Item, index: number) => ReactNode
}) {
  const words = useEndlessWords()
  const box = useRef<HTMLElement>(null)
  const top = useTop(box)
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => height,
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 6,
    scrollMargin: top,
  })
  const { ref: end, entry } = useIntersection({ rootMargin: '800px 0px' })
  const reached = Boolean(entry?.isIntersecting)
  useEffect(() => {
    if (reached && more && !loading && !failed && !old) onMore()
  }, [reached, more, loading, failed, old, onMore])
  return (
    <>
      <section
        ref={box}
        className={classes.box}
        aria-label={label}
        aria-busy={old}
        data-old={old || undefined}
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(({ key, index, start, size }) => {
          const item = items[index]
          return (
            item && (
              <div
                key={key}
                className={classes.line}
                style={{ height: size, transform: `translateY(${start - top}px)` }}
              >
                {children(item, index)}
              </div>
            )
          )
        })}
      </section>
      <div ref={end} />
      <Center py={failed || loading || more ? 'lg' : 0}>
        {failed ? (
          <Failed error={failed} retry={onMore} />
        ) : loading ? (
          <Loader size="sm" type="dots" />
        ) : (
          more && (
            <Button variant="default" onClick={onMore}>
              {words('more')}
            </Button>
          )
        )}
      </Center>
    </>
  )
}
