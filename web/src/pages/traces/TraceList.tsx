import { Button, Center } from '@mantine/core'
import { IconArrowUp } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'react-router'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { TraceRow } from './TraceRow'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'
import { useTraces, type Wanted } from './useTraces'

const AT_TOP = 60 // pixels

/** The list, day by day. What comes while somebody reads further down waits until they want it: nothing moves. */
export function TraceList({ wanted, live, open }: { wanted: Wanted; live: boolean; open: string | null }) {
  const words = useTracesWords()
  const frame = useFrameWords()
  const format = useFormat()
  const [, change] = useAddress()
  const { lines, older } = useTraces(wanted, live)
  const [held, setHeld] = useState<string | null>(null)
  const first = useRef<string | null>(null)
  first.current = lines[0]?.id ?? null
  useEffect(() => {
    const look = () => setHeld((before) => (window.scrollY < AT_TOP ? null : (before ?? first.current)))
    window.addEventListener('scroll', look, { passive: true })
    return () => window.removeEventListener('scroll', look)
  }, [])
  if (older.isPending) return <Skeletons lines={10} height={56} />
  if (older.isError && lines.length === 0) return <Failed error={older.error} retry={older.refetch} />
  if (lines.length === 0) {
    return Object.values(wanted).some(Boolean) ? (
      <Empty
        title={words('noMatch')}
        action={
          <Button variant="default" onClick={() => change({ kind: null, space: null, q: null, when: null })}>
            {words('clear')}
          </Button>
        }
      >
        {words('noMatchAbout')}
      </Empty>
    ) : (
      <Empty
        title={words('emptyTitle')}
        action={
          <Button component={Link} to="/dashboard/scopes">
            {words('tryIt')}
          </Button>
        }
      >
        {words('empty')}
      </Empty>
    )
  }
  const waiting =
    held === null
      ? 0
      : Math.max(
          0,
          lines.findIndex((one) => one.id === held),
        )
  const shown = lines.slice(waiting)
  return (
    <>
      {waiting > 0 && (
        <div className={classes.waiting}>
          <Button
            size="xs"
            radius="xl"
            leftSection={<IconArrowUp size={14} aria-hidden />}
            onClick={() => {
              setHeld(null)
              window.scrollTo({ top: 0 })
            }}
          >
            {words('newOnes', { count: waiting })}
          </Button>
        </div>
      )}
      <ol className={classes.list} aria-label={words('list')}>
        {shown.map((one, place) => {
          const before = shown[place - 1]
          const begins = !before || format.day(before.at) !== format.day(one.at)
          return (
            <li key={one.id}>
              {begins && <h2 className={classes.day}>{format.day(one.at)}</h2>}
              <TraceRow line={one} chosen={one.id === open} />
            </li>
          )
        })}
      </ol>
      {older.hasNextPage && (
        <Center mt="md">
          <Button
            variant="default"
            loading={older.isFetchingNextPage}
            onClick={() => void older.fetchNextPage()}
          >
            {frame('more')}
          </Button>
        </Center>
      )}
    </>
  )
}
