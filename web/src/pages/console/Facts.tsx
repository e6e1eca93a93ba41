import type { ReactNode } from 'react'
import classes from './Console.module.css'

/** Names with their values, as many in a row as there is room for. */
export function Facts({ of }: { of: [name: string, value: ReactNode][] }) {
  return (
    <dl className={classes.facts}>
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
