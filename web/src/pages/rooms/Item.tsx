import { type ReactNode, useEffect, useRef } from 'react'
import { useAddress } from '@/parts/address'
import classes from './Rooms.module.css'

/** One thing in the panel; brought into view when the page's address names it. */
export function Item({ id, past = false, children }: { id: string; past?: boolean; children: ReactNode }) {
  const [params] = useAddress()
  const shown = params.get('show') === id
  const box = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (shown) box.current?.scrollIntoView({ block: 'center' })
  }, [shown])
  return (
    <li
      ref={box}
      className={`${classes.item} ${past ? classes.past : ''} ${shown ? classes.shown : ''}`}
      style={{ listStyle: 'none' }}
    >
      {children}
    </li>
  )
}
