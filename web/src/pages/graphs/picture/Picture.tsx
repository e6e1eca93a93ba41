import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { aroundQuery, countsQuery, pictureQuery } from '../calls'
import classes from '../Graphs.module.css'
import { useGraphsWords } from '../graphs.words'
import { useFilters } from '../useFilters'
import { Drawing } from './Drawing'

const STEPS = [500, 2000, 5000] as const // nodes

/** How nodes hang together, drawn: those with the most edges, or what is around one. `lit` are those to look at. */
export default function Picture({
  graph,
  chosen,
  lit,
  onOpen,
}: {
  graph: string
  chosen: string | null
  lit: ReadonlySet<string> | null
  onOpen: (id: string) => void
}) {
  const words = useGraphsWords()
  const format = useFormat()
  const filters = useFilters()
  const [params, change] = useAddress()
  const [step, setStep] = useState(0)
  const around = params.get('around')
  const depth = params.get('depth') === '2' ? 2 : 1
  const { as_of, superseded, ...query } = filters.query
  const at = as_of ? Date.parse(as_of) : null
  // Who looks at another time gets all there was at once, so that the picture stands still while time goes by.
  const past = superseded === true || at !== null
  const limit = STEPS[step] ?? STEPS[0]
  const all = useQuery({
    ...pictureQuery(graph, { ...query, superseded: past, limit }),
    enabled: !around,
    placeholderData: keepPreviousData,
  })
  const near = useQuery({
    ...aroundQuery(graph, around ?? '', depth),
    enabled: around !== null,
    placeholderData: keepPreviousData,
  })
  const counts = useQuery(countsQuery(graph, undefined))
  const shown = around ? near : all
  const middle = around && near.data?.nodes.find((one) => one.id === around)
  const next = STEPS[step + 1]
  return (
    <Stack gap="xs">
      {around && (
        <Group justify="space-between">
          <Text size="sm" lineClamp={1} flex={1} miw={160}>
            {middle && words('pictureAround', { node: middle.text })}
          </Text>
          <SegmentedControl
            size="xs"
            aria-label={words('pictureHow')}
            value={String(depth)}
            onChange={(value) =>
              value === 'all' ? change({ around: null, depth: null }) : change({ depth: value })
            }
            data={[
              { value: 'all', label: words('pictureAll') },
              { value: '1', label: words('pictureOne') },
              { value: '2', label: words('pictureTwo') },
            ]}
          />
        </Group>
      )}
      {shown.isError && <Failed error={shown.error} retry={shown.refetch} />}
      <div className={classes.picture}>
        {shown.data ? (
          <Drawing
            key={`${graph} ${around ?? ''}`}
            drawn={shown.data}
            types={(counts.data?.node_types ?? []).map((one) => one.node_type)}
            at={at}
            past={superseded === true}
            chosen={chosen}
            middle={around}
            lit={lit}
            onOpen={onOpen}
          />
        ) : (
          !shown.isError && <Skeletons lines={1} height={900} />
        )}
      </div>
      {shown.data && (
        <Group justify="space-between" gap="xs">
          <Text size="xs" c="dimmed">
            {words('pictureHint')}
            {shown.data.more &&
              ` ${words('pictureFirst', { count: format.number(shown.data.nodes.length) })}`}
            {shown.data.edges.length === 0 && ` ${words('pictureNoEdges')}`}
          </Text>
          {!around && shown.data.more && next && (
            <Button
              size="compact-sm"
              variant="default"
              loading={all.isPlaceholderData}
              onClick={() => setStep(step + 1)}
            >
              {words('pictureMore', { count: format.number(next) })}
            </Button>
          )}
        </Group>
      )}
    </Stack>
  )
}
