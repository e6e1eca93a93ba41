import { useEffect, useMemo } from 'react'
import { Endless, type Pages } from '@/parts/rows/Endless'
import { useOrder } from '../order'
import type { Hit } from './months'
import { Row } from './Row'
import { useChoosing } from './select/choosing'

const ROW = 108

/** What a search found, the best first. */
export function Found({ items, ranked, ...pages }: Pages & { items: Hit[]; ranked: boolean }) {
  const { setOrder } = useOrder()
  const { listen } = useChoosing()
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
  return (
    <Endless items={items} height={ROW} {...pages}>
      {(hit, index) => (
        <Row
          hit={hit}
          position={index}
          ranked={ranked}
          first={index === 0}
          last={index === items.length - 1}
        />
      )}
    </Endless>
  )
}
