import { Text, useComputedColorScheme } from '@mantine/core'
import { useCallback, useMemo } from 'react'
import { useFormat } from '@/app/session'
import { Board, type Pen } from '@/parts/board/Board'
import { boundsOf } from '@/parts/board/camera'
import { useInk } from '@/parts/board/ink'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { paintSky } from './paint'
import type { Cluster, Star } from './reading'

/** The map on a canvas: what there was until a time, what was found in it, and one cluster of it. */
export function Sky({
  clusters,
  stars,
  at,
  found,
  walked,
  cluster,
  onCluster,
}: {
  clusters: readonly Cluster[]
  stars: readonly Star[]
  at: number | null
  found: readonly Star[] | null
  walked: Star | null
  cluster: number | null
  onCluster: (number: number | null) => void
}) {
  const words = useRecallWords()
  const format = useFormat()
  const ink = useInk()
  const dark = useComputedColorScheme('light') === 'dark'
  const place = usePlace()
  const known = useMemo(() => new Map(stars.map((star) => [star.id, star])), [stars])
  const meant = useMemo(() => found && new Set(found.map((star) => star.id)), [found])
  const bounds = useMemo(() => boundsOf(stars), [stars])
  const look = useMemo(() => {
    if (walked) return { left: walked.x, right: walked.x, top: walked.y, bottom: walked.y }
    const home = cluster === null ? undefined : clusters.find((one) => one.number === cluster)
    return home ? boundsOf(home.stars) : null
  }, [walked, cluster, clusters])
  const spots = useMemo(
    () =>
      stars.filter(
        (star) =>
          (at === null || star.created <= at) &&
          (cluster === null || star.cluster === cluster || meant?.has(star.id)),
      ),
    [stars, at, cluster, meant],
  )
  const { capsule } = place
  const paint = useCallback(
    (pen: Pen) =>
      paintSky(pen, {
        clusters,
        at,
        found: meant,
        cluster,
        chosen: capsule,
        walked: walked?.id ?? '',
        ink,
        dark,
      }),
    [clusters, at, meant, cluster, capsule, walked, ink, dark],
  )
  const named = (star: Star) => clusters.find((one) => one.number === star.cluster)?.label ?? ''
  return (
    <Board
      spots={spots}
      bounds={bounds}
      look={look}
      paint={paint}
      label={words('mapLabel', {
        count: stars.length,
        clusters: clusters.filter((one) => one.number >= 0).length,
      })}
      tell={(id) => known.get(id)?.title ?? ''}
      card={(id) => {
        const star = known.get(id)
        return (
          star && (
            <>
              <Text size="sm" fw={600} lineClamp={3}>
                {star.title}
              </Text>
              <Text size="xs" c="dimmed">
                {[named(star), format.day(new Date(star.created).toISOString()), ...star.tags.slice(0, 3)]
                  .filter(Boolean)
                  .join(' · ')}
              </Text>
            </>
          )
        )
      }}
      onOpen={(id) => place.set({ capsule: id })}
      onZone={(id) => onCluster(Number(id) === cluster ? null : Number(id))}
    />
  )
}
