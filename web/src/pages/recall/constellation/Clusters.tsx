import { Accordion, Anchor, Button, Group, Text, Title, useComputedColorScheme } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import { hue } from '@/parts/board/hues'
import { useInk } from '@/parts/board/ink'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import classes from './Clusters.module.css'
import sky from './Constellation.module.css'
import type { Cluster, Star } from './reading'

const STEP = 50

/** The map as a list, for the keyboard and for those who do not see it; what was found or was there then. */
export function Clusters({
  clusters,
  opened,
  found,
  at,
  onOpen,
}: {
  clusters: readonly Cluster[]
  opened: number | null
  found: readonly Star[] | null
  at: number | null
  onOpen: (cluster: number | null) => void
}) {
  const words = useRecallWords()
  const format = useFormat()
  const place = usePlace()
  const ink = useInk()
  const dark = useComputedColorScheme('light') === 'dark'
  const [shown, setShown] = useState(STEP)
  const shownClusters = useMemo(() => {
    const meant = found && new Set(found.map((star) => star.id))
    return clusters
      .map((cluster) => ({
        ...cluster,
        stars: cluster.stars.filter(
          (star) => (!meant || meant.has(star.id)) && (at === null || star.created <= at),
        ),
      }))
      .filter((cluster) => cluster.stars.length > 0)
  }, [clusters, found, at])
  useEffect(() => setShown(STEP), [opened])
  return (
    <section className={sky.list}>
      <Title order={2} size="h5" mb="xs">
        {words('clusters')}
      </Title>
      <Accordion
        value={opened === null ? null : String(opened)}
        onChange={(value) => onOpen(value === null ? null : Number(value))}
        order={3}
        variant="contained"
        classNames={{ item: classes.item }}
      >
        {shownClusters.map((cluster) => (
          <Accordion.Item key={cluster.number} value={String(cluster.number)}>
            <Accordion.Control>
              <Group gap="xs" wrap="nowrap">
                <span className={classes.dot} style={{ background: hue(cluster.number, dark, ink.soft) }} />
                <Text size="sm" fw={500}>
                  {cluster.label || words('alone')}
                </Text>
                <Text size="sm" c="dimmed">
                  {format.number(cluster.stars.length)}
                </Text>
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              {opened === cluster.number && (
                <ul className={classes.list}>
                  {cluster.stars.slice(0, shown).map((star) => (
                    <li key={star.id}>
                      <Anchor data-row component={Link} to={place.with({ capsule: star.id })} size="sm">
                        {star.title}
                      </Anchor>
                    </li>
                  ))}
                  {cluster.stars.length > shown && (
                    <li>
                      <Button variant="subtle" size="compact-sm" onClick={() => setShown(shown + STEP)}>
                        {words('clusterMore', { number: format.number(cluster.stars.length - shown) })}
                      </Button>
                    </li>
                  )}
                </ul>
              )}
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </section>
  )
}
