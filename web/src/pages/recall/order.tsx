import { createContext, type ReactNode, useContext, useMemo, useState } from 'react'

/** The list beside an open capsule, as its sheet needs it: what comes before and after. */
export type Order = {
  placeOf: (id: string) => number | undefined
  idAt: (position: number) => string | undefined
  count: number
}

const Known = createContext<{ order: Order | null; setOrder: (order: Order | null) => void }>({
  order: null,
  setOrder: () => undefined,
})

export function OrderProvider({ children }: { children: ReactNode }) {
  const [order, setOrder] = useState<Order | null>(null)
  const value = useMemo(() => ({ order, setOrder }), [order])
  return <Known value={value}>{children}</Known>
}

export function useOrder() {
  return useContext(Known)
}
