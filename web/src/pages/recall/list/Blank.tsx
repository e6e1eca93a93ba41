import { Skeleton } from '@mantine/core'
import rows from '@/parts/rows/row.module.css'
import classes from './Row.module.css'

/** In the place of a row that is on its way. */
export function Blank({ first, last }: { first: boolean; last: boolean }) {
  return (
    <div
      className={`${rows.row} ${classes.row}`}
      data-first={first || undefined}
      data-last={last || undefined}
      aria-hidden
    >
      <Skeleton height={18} width={18} radius="sm" mt={3} animate={false} />
      <div className={classes.main}>
        <Skeleton height={14} width="38%" mt={4} animate={false} />
        <Skeleton height={10} width="74%" mt={12} animate={false} />
      </div>
    </div>
  )
}
