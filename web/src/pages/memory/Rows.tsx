import { Badge, Button, Center, Loader, Text } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { memo, useEffect, useRef } from 'react'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import { plain } from '@/pages/recall/list/excerpt'
import { useTop } from '@/pages/recall/list/top'
import { Failed } from '@/parts/Failed'
import { ICONS, useWhere } from '@/parts/things/things'
import { useThingWords } from '@/parts/things/things.words'
import { useNames } from './Filters'
import classes from './Memory.module.css'
import { useMemoryWords } from './memory.words'
import { type Shelved, useMemoryPlace } from './place'

const ROW = 92

/** As many rows as are in sight, however long the list is; the next page comes before its end is reached. */
export function Rows({
  items,
  old,
  more,
  loading,
  failed,
  onMore,
}: {
  items: Shelved[]
  old: boolean
  more: boolean
  loading: boolean
  failed: Error | null
  onMore: () => void
}) {
  const words = useMemoryWords()
  const box = useRef<HTMLDivElement>(null)
  const top = useTop(box)
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => ROW,
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 6,
    scrollMargin: top,
  })
  const { ref: end, entry } = useIntersection({ rootMargin: '800px 0px' })
  const reached = Boolean(entry?.isIntersecting)
  useEffect(() => {
    if (reached && more && !loading && !failed && !old) onMore()
  }, [reached, more, loading, failed, old, onMore])
  return (
    <>
      <section
        ref={box}
        className={classes.box}
        aria-label={words('list')}
        aria-busy={old}
        data-old={old || undefined}
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(({ key, index, start, size }) => {
          const memory = items[index]
          return (
            memory && (
              <div
                key={key}
                className={classes.line}
                style={{ height: size, transform: `translateY(${start - top}px)` }}
              >
                <Row memory={memory} first={index === 0} last={index === items.length - 1} />
              </div>
            )
          )
        })}
      </section>
      <div ref={end} />
      <Center py={failed || loading || more ? 'lg' : 0}>
        {failed ? (
          <Failed error={failed} retry={onMore} />
        ) : loading ? (
          <Loader size="sm" type="dots" />
        ) : (
          more && (
            <Button variant="default" onClick={onMore}>
              {words('more')}
            </Button>
          )
        )}
      </Center>
    </>
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
      className={classes.row}
      aria-label={head}
      data-first={first || undefined}
      data-last={last || undefined}
      data-open={place.memory === memory.id || undefined}
    >
      <Icon size={19} stroke={1.6} aria-hidden className={classes.icon} />
      <div className={classes.main}>
        <Link to={place.with({ memory: memory.id })} className={classes.link} data-row preventScrollReset>
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
