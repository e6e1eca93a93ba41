import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react'
import type { Hit } from '../months'

type Read = (client: QueryClient, between: readonly [number, number]) => Promise<Hit[]>
/** What is done to those that were chosen, in a dialog. */
export type Deed = 'tag' | 'untag' | 'project' | 'kind' | 'merge'
export type Acting = { deed: Deed; ids: readonly string[] }

type Choosing = {
  chosen: ReadonlySet<string>
  acting: Acting | null
  act: (acting: Acting | null) => void
  /** With shift, also all from the one before to this one. */
  toggle: (id: string, position: number, shift: boolean) => Promise<void>
  choose: (ids: Iterable<string>) => void
  clear: () => void
  /** The list says how its rows are read, also those that nobody has seen yet. */
  listen: (read: Read) => () => void
}

const Known = createContext<Choosing | null>(null)

/** Which rows of the list are chosen. */
export function ChoosingProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [acting, act] = useState<Acting | null>(null)
  const last = useRef(-1)
  const reader = useRef<Read | null>(null)
  const listen = useCallback((read: Read) => {
    reader.current = read
    return () => {
      if (reader.current === read) reader.current = null
    }
  }, [])
  const toggle = useCallback(
    async (id: string, position: number, shift: boolean) => {
      const before = last.current
      last.current = position
      if (shift && before >= 0 && reader.current) {
        const hits = await reader.current(client, [Math.min(before, position), Math.max(before, position)])
        setChosen((now) => new Set([...now, ...hits.map((hit) => hit.id)]))
        return
      }
      setChosen((now) => {
        const next = new Set(now)
        if (!next.delete(id)) next.add(id)
        return next
      })
    },
    [client],
  )
  const choose = useCallback((ids: Iterable<string>) => setChosen(new Set(ids)), [])
  const clear = useCallback(() => {
    last.current = -1
    setChosen(new Set())
  }, [])
  const value = useMemo(
    () => ({ chosen, acting, act, toggle, choose, clear, listen }),
    [chosen, acting, toggle, choose, clear, listen],
  )
  return <Known value={value}>{children}</Known>
}

export function useChoosing(): Choosing {
  const known = useContext(Known)
  if (!known) throw new Error('rows are chosen within a ChoosingProvider')
  return known
}
