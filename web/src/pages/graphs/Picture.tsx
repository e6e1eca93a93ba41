import { Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { aroundQuery, drawnQuery } from './calls'
import { Drawing } from './Drawing'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'
import { useFilters } from './useFilters'

/** How nodes hang together, drawn: the newest few hundred, or what is around one. */
export default function Picture({
  graph,
  chosen,
  onOpen,
}: {
  graph: string
  chosen: string | null
  onOpen: (id: string) => void
}) {
  const words = useGraphsWords()
  const format = useFormat()
  const filters = useFilters()
  const [params, change] = useAddress()
  const around = params.get('around')
  const depth = params.get('depth') === '2' ? 2 : 1
  const all = useQuery({ ...drawnQuery(graph, filters), enabled: !around })
  const near = useQuery({ ...aroundQuery(graph, around ?? '', depth), enabled: around !== null })
  const shown = around ? near : all
  const middle = around && near.data?.nodes.find((one) => one.id === around)
  return (
    <Stack gap="xs">
      {around && (
        <Group justify="space-between">
          <Text size="sm" lineClamp={1} flex={1} miw={160}>
            {middle && words('pictureAround', { node: middle.content })}
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
      {shown.isPending && <Waiting />}
      {shown.isError && <Failed error={shown.error} retry={shown.refetch} />}
      {shown.data && (
        <>
          <div className={classes.picture}>
            <Drawing drawn={shown.data} chosen={chosen} middle={around} onOpen={onOpen} />
          </div>
          <Text size="xs" c="dimmed">
            {words('pictureHint')}
            {shown.data.more &&
              ` ${words('pictureFirst', { count: format.number(shown.data.nodes.length) })}`}
            {shown.data.edges.length === 0 && ` ${words('pictureNoEdges')}`}
          </Text>
        </>
      )}
    </Stack>
  )
}
