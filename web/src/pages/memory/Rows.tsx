import { Badge, Text } from '@mantine/core'
import { memo } from 'react'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import { plain } from '@/parts/excerpt'
import { Endless, type Pages } from '@/parts/rows/Endless'
import rows from '@/parts/rows/row.module.css'
import { ICONS, useWhere } from '@/parts/things/things'
import { useThingWords } from '@/parts/things/things.words'
import { useNames } from './Filters'
import classes from './Memory.module.css'
import { useMemoryWords } from './memory.words'
import { type Shelved, useMemoryPlace } from './place'

const ROW = 92

export function Rows({ items, ...pages }: Pages & { items: Shelved[] }) {
  const words = useMemoryWords()
  return (
    <Endless items={items} height={ROW} label={words('list')} {...pages}>
      {(memory, index) => <Row memory={memory} first={index === 0} last={index === items.length - 1} />}
    </Endless>
  )
}

const Row = memo(function Row({ memory, first, last }: { memory: Shelved; first: boolean; last: boolean }) {
  const words = useMemoryWords()
  const things = useThingWords()
  const format = useFormat()
  const named = useNames()
  const whereOf = useWhere()
  const place = useMemoryPlace()
  const Icon = ICONS[memory.kind]
  const facts = [
    things(memory.kind),
    whereOf(memory.place),
    memory.user && !memory.place?.entity && named('user', memory.user, memory.user_name),
    !memory.place?.entity && memory.agent,
    memory.chat_title ? words('saidIn', { name: memory.chat_title }) : words(memory.source),
  ]
  const head = headOf(memory)
  return (
    <article
      className={`${rows.row} ${classes.row}`}
      aria-label={head}
      data-first={first || undefined}
      data-last={last || undefined}
      data-open={place.memory === memory.id || undefined}
    >
      <Icon size={19} stroke={1.6} aria-hidden className={classes.icon} />
      <div className={classes.main}>
        <Link
          to={place.with({ memory: memory.id })}
          className={`${rows.link} ${classes.link}`}
          data-row
          preventScrollReset
        >
          {memory.title || memory.key ? <strong className={classes.head}>{head}</strong> : null}
          <span>{memory.kind === 'capsule' ? plain(memory.text) : memory.text}</span>
        </Link>
        <Text size="xs" c="dimmed" component="p" className={classes.facts}>
          {[...new Set(facts.filter(Boolean))].join(' · ')}
        </Text>
      </div>
      <div className={classes.side}>
        <Text size="xs" c="dimmed" component="time" dateTime={memory.created_at}>
          {format.day(memory.created_at)}
        </Text>
        {memory.superseded && (
          <Badge variant="outline" color="gray" size="xs">
            {words('overBadge')}
          </Badge>
        )}
      </div>
    </article>
  )
})

/** What it is called: its title, an item's namespace and key, or how its text begins. */
export function headOf(memory: Shelved): string {
  if (memory.key) return [...(memory.namespace ?? []), memory.key].join(' / ')
  return memory.title || memory.text.slice(0, 120)
}
