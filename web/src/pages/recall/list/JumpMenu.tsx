import { Button, Menu } from '@mantine/core'
import { IconCalendar } from '@tabler/icons-react'
import { Fragment } from 'react'
import { useFormat } from '@/app/session'
import { useRecallWords } from '../recall.words'
import classes from './JumpMenu.module.css'
import type { MonthOf } from './months'
import { byYear } from './years'

/** The months of the whole list in a menu, where there is no room for them at the side. It stays in sight. */
export function JumpMenu({
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
  if (months.length < 2) return null
  const named = (key: string) => format.month(`${key}-15T12:00:00Z`)
  const here = named(now ?? months[0]?.key ?? '')
  return (
    <div className={classes.bar}>
      <Menu position="bottom-end" width={240} returnFocus={false}>
        <Menu.Target>
          <Button
            variant="default"
            leftSection={<IconCalendar size={16} stroke={1.6} aria-hidden />}
            aria-label={`${here}: ${words('jump')}`}
          >
            {here}
          </Button>
        </Menu.Target>
        <Menu.Dropdown className={classes.drop}>
          {byYear(months).map(([year, inside]) => (
            <Fragment key={year}>
              <Menu.Label>{year}</Menu.Label>
              {inside.map((month) => (
                <Menu.Item
                  key={month.key}
                  rightSection={<span className={classes.count}>{format.number(month.count)}</span>}
                  onClick={() => onJump(month.key)}
                >
                  {named(month.key)}
                </Menu.Item>
              ))}
            </Fragment>
          ))}
        </Menu.Dropdown>
      </Menu>
    </div>
  )
}
