import { useEffect, useRef } from 'react'
import { useAddress } from './address'

/** Whether the page's address names this (`?show=`); what the reference is given to is then brought into sight. */
export function useShown<Box extends HTMLElement>(id: string) {
  const [params] = useAddress()
  const shown = params.get('show') === id
  const box = useRef<Box>(null)
  useEffect(() => {
    if (!shown) return
    // After what follows the end of a conversation.
    const next = requestAnimationFrame(() => box.current?.scrollIntoView({ block: 'center' }))
    return () => cancelAnimationFrame(next)
  }, [shown])
  return [box, shown] as const
}

type Pages = { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }

/** Of a list that comes in pages, further ones until what the address names is among them. `kind`: `doc`, `art`. */
export function useUntilShown(kind: string, list: Pages, items: readonly { id: string }[]) {
  const [params] = useAddress()
  const wanted = params.get('show')
  const missing = wanted?.startsWith(`${kind}_`) === true && !items.some((one) => one.id === wanted)
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list
  useEffect(() => {
    if (missing && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [missing, hasNextPage, isFetchingNextPage, fetchNextPage])
}
