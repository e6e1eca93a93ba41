import { Chip, Group, Skeleton, Switch, Text, useComputedColorScheme } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { hue } from '@/parts/board/hues'
import { useInk } from '@/parts/board/ink'
import { TimeSlider } from '@/parts/board/TimeSlider'
import { countsQuery } from './calls'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'
import { useFilters } from './useFilters'

const TYPES = 8

/** How much is in a graph, by type, and at which time it is looked at; before it how. */
export function Overview({ graph, children }: { graph: string; children: ReactNode }) {
  const words = useGraphsWords()
  const format = useFormat()
  const ink = useInk()
  const dark = useComputedColorScheme('light') === 'dark'
  const [, change] = useAddress()
  const { query, raw } = useFilters()
  const now = useQuery(countsQuery(graph, undefined))
  const then = useQuery({ ...countsQuery(graph, query.as_of), placeholderData: keepPreviousData })
  const [moved, setMoved] = useState<number | null>(query.as_of ? Date.parse(query.as_of) : null)
  useEffect(() => setMoved(query.as_of ? Date.parse(query.as_of) : null), [query.as_of])
  const settle = useDebouncedCallback(
    (at: number | null) => change({ as_of: at === null ? null : local(at) }, { replace: true }),
    120,
  )
  const until = useMemo(() => Date.now(), [now.data])
  if (!now.data || !then.data) return <Skeleton height={118} radius="lg" />
  const { nodes, superseded, edges } = then.data
  const since = now.data.since ? Date.parse(now.data.since) : null
  return (
    <section className={classes.card} aria-label={words('overview')}>
      <Group gap="sm">
        {children}
        <Text flex={1} miw={200} size="sm" aria-live="polite">
          {words('nodes', { count: nodes })} · {words('edgeCount', { count: edges })}
          {superseded > 0 && ` · ${words('supersededCount', { count: superseded })}`}
        </Text>
        {(now.data.superseded > 0 || raw.superseded) && (
          <Switch
            size="sm"
            label={words('showSuperseded')}
            checked={raw.superseded !== ''}
            onChange={(event) => change({ superseded: event.currentTarget.checked ? '1' : null })}
          />
        )}
      </Group>
      <div className={classes.when}>
        {now.data.node_types.length > 1 && (
          <Group gap={6} role="group" aria-label={words('types')}>
            {now.data.node_types.slice(0, TYPES).map(({ node_type }, place) => (
              <Chip
                key={node_type}
                size="xs"
                variant="outline"
                checked={raw.type === node_type}
                onChange={(on) => change({ type: on ? node_type : null })}
              >
                <span className={classes.dot} style={{ background: hue(place, dark, ink.soft) }} />
                {node_type}{' '}
                {format.number(then.data.node_types.find((one) => one.node_type === node_type)?.holding ?? 0)}
              </Chip>
            ))}
          </Group>
        )}
        {since !== null && until - since > 60_000 && (
          <TimeSlider
            label={words('asOf')}
            since={since}
            until={until}
            value={moved}
            times={[]}
            onChange={(at) => {
              setMoved(at)
              settle(at)
            }}
          />
        )}
      </div>
    </section>
  )
}

/** As a field for date and time holds it: to the second. */
function local(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
