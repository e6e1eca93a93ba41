import { Progress, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { ApiError, api, ok } from '@/api/client'
import { TimeSlider } from '@/parts/board/TimeSlider'
import { CAPSULES } from '@/parts/capsules/queries'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { useRecallWords } from '../recall.words'
import { Clusters } from './Clusters'
import classes from './Constellation.module.css'
import { Freshness } from './Freshness'
import { readSky } from './reading'
import { Search } from './Search'
import { Sky } from './Sky'
import { useSearch } from './useSearch'

const NEEDED = 30
const AGAIN = 2000 // ms, while it is being made
const KEY = [...CAPSULES, 'constellation']

/** The map of everything: what means alike lies close together. */
export default function Constellation({ count }: { count: number }) {
  const words = useRecallWords()
  // When the map was made that another is to take the place of.
  const [outdated, setOutdated] = useState<string | null>(null)
  const map = useQuery({
    queryKey: KEY,
    queryFn: () => ok(api.GET('/v1/memory/capsules/constellation')),
    enabled: count >= NEEDED,
    refetchInterval: (query) => {
      const made = query.state.data?.made_at
      return made === null || (made !== undefined && made === outdated) ? AGAIN : false
    },
  })
  const clusters = useMemo(() => (map.data ? readSky(map.data) : []), [map.data])
  const stars = useMemo(() => clusters.flatMap((cluster) => cluster.stars), [clusters])
  const times = useMemo(() => stars.map((star) => star.created), [stars])
  const since = useMemo(() => times.reduce((first, time) => Math.min(first, time), Infinity), [times])
  const until = useMemo(() => Date.now(), [times])
  const [question, setQuestion] = useState('')
  const [at, setAt] = useState<number | null>(null)
  const [step, setStep] = useState(-1)
  const [cluster, setCluster] = useState<number | null>(null)
  const answers = useSearch(question, stars)
  const found = useMemo(
    () => (at === null ? answers : (answers?.filter((star) => star.created <= at) ?? null)),
    [answers, at],
  )
  useEffect(() => setStep(-1), [question])
  if (count < NEEDED || (map.error instanceof ApiError && map.error.status === 409)) {
    return (
      <Empty
        title={words('early')}
        action={
          <>
            <Progress
              value={(count / NEEDED) * 100}
              w={260}
              maw="100%"
              aria-label={words('earlyCount', { count })}
            />
            <Text size="sm" c="dimmed">
              {words('earlyMissing', { count: Math.max(NEEDED - count, 1) })}
            </Text>
          </>
        }
      >
        {words('earlyText')}
      </Empty>
    )
  }
  if (map.error) return <Failed error={map.error} retry={map.refetch} />
  if (map.isPending) return <Skeleton className={classes.sky} radius="md" />
  if (map.data.made_at === null) {
    return (
      <Empty title={words('making')} action={<Waiting />}>
        {words('makingText')}
      </Empty>
    )
  }
  const walk = (steps: 1 | -1) => {
    if (!found?.length) return
    setCluster(null)
    setStep((before) => (before + steps + (before < 0 && steps < 0 ? 1 : 0) + found.length) % found.length)
  }
  const shown = stars.filter((star) => at === null || star.created <= at).length
  return (
    <div className={classes.whole}>
      <div className={classes.tools}>
        <Search
          question={question}
          found={found?.length ?? null}
          walked={step}
          onAsk={setQuestion}
          onWalk={walk}
        />
        <Freshness
          map={map.data}
          queryKey={KEY}
          redrawing={map.data.made_at === outdated}
          onRedraw={() => setOutdated(map.data.made_at)}
        />
      </div>
      <div className={classes.parts}>
        <section className={classes.card} aria-label={words('constellation')}>
          <div className={classes.sky}>
            <Sky
              clusters={clusters}
              stars={stars}
              at={at}
              found={found}
              walked={found?.[step] ?? null}
              cluster={cluster}
              onCluster={setCluster}
            />
          </div>
          <div className={classes.time}>
            <TimeSlider
              label={words('mapUntil')}
              since={since}
              until={until}
              value={at}
              times={times}
              onChange={setAt}
            />
            <Text size="xs" c="dimmed">
              {at === null ? words('mapHint') : words('mapThen', { count: shown })}
            </Text>
          </div>
        </section>
        <Clusters clusters={clusters} opened={cluster} found={found} at={at} onOpen={setCluster} />
      </div>
    </div>
  )
}
