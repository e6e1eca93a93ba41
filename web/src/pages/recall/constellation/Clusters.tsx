import { Accordion, Anchor, Button, Group, Text, Title, useComputedColorScheme } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import { useInk } from '../ink'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import classes from './Clusters.module.css'
import { hue } from './hues'
import type { Cluster } from './reading'

const STEP = 50

/** The map as a list, for the keyboard and for those who do not see it. */
export function Clusters({ clusters }: { clusters: readonly Cluster[] }) {
  const words = useRecallWords()
  const format = useFormat()
  const place = usePlace()
  const ink = useInk()
  const dark = useComputedColorScheme('light') === 'dark'
  const [opened, setOpened] = useState<string | null>(null)
  const [shown, setShown] = useState(STEP)
  return (
    <section>
      <Title order={2} size="h5" mb="xs">
        {words('clusters')}
      </Title>
      <Accordion
        value={opened}
        onChange={(value) => {
          setOpened(value)
          setShown(STEP)
        }}
        order={3}
        variant="contained"
        classNames={{ item: classes.item }}
      >
        {clusters.map((cluster) => (
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
              {opened === String(cluster.number) && (
                <ul className={classes.list}>
                  {cluster.stars.slice(0, shown).map((star) => (
                    <li key={star.id}>
                      <Anchor component={Link} to={place.with({ capsule: star.id })} size="sm">
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
