import { Tooltip, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useFormat } from '@/app/session'
import { useRecallWords } from '../recall.words'
import type { MonthOf } from './months'
import classes from './Rail.module.css'
import { byYear, useShortMonth } from './years'

const FEW = 26 // months: so many stand beside the list at once

/** The months of the whole list at its right: a click goes there. Of many years the months of one are shown. */
export function Rail({
  months,
  now,
  onJump,
}: {
  months: readonly MonthOf[]
  now: string | undefined
  onJump: (key: string) => void
}) {
  const words = useRecallWords()
  const format = useFormat()
  const short = useShortMonth()
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    const here = box.current?.querySelector<HTMLElement>('[aria-current]')
    if (here && box.current) box.current.scrollTop = here.offsetTop - box.current.clientHeight / 2
  }, [now])
  if (months.length < 2) return null
  const most = Math.max(...months.map((month) => month.count))
  return (
    <nav ref={box} className={classes.rail} aria-label={words('months')}>
      {byYear(months).map(([year, inside]) => (
        <div key={year} className={classes.year}>
          <UnstyledButton className={classes.head} onClick={() => onJump(inside[0]?.key ?? '')}>
            {year}
          </UnstyledButton>
          {(months.length <= FEW || now?.startsWith(year)) &&
            inside.map((month) => (
              <Tooltip
                key={month.key}
                position="left"
                label={words('monthCount', { count: month.count, number: format.number(month.count) })}
              >
                <UnstyledButton
                  className={classes.month}
                  aria-current={month.key === now ? 'true' : undefined}
                  onClick={() => onJump(month.key)}
                >
                  <span aria-hidden>{short(month.key)}</span>
                  <VisuallyHidden>{format.month(`${month.key}-15T12:00:00Z`)}</VisuallyHidden>
                  <span className={classes.bar}>
                    <span style={{ width: `${Math.max(8, (month.count / most) * 100)}%` }} />
                  </span>
                </UnstyledButton>
              </Tooltip>
            ))}
        </div>
      ))}
    </nav>
  )
}
