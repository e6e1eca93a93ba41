import { Button, Group, Text } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { useRecallWords } from '../recall.words'
import classes from './Constellation.module.css'

/** Since when the map is as it is, and what has happened since; drawn anew on demand. */
export function Freshness({
  map,
  redrawing,
  onRedraw,
  queryKey,
}: {
  map: Schema<'ConstellationOut'>
  redrawing: boolean
  onRedraw: () => void
  queryKey: readonly unknown[]
}) {
  const words = useRecallWords()
  const format = useFormat()
  const client = useQueryClient()
  const redraw = useMutation({
    mutationFn: () => ok(api.GET('/v1/memory/capsules/constellation', { params: { query: { anew: true } } })),
    onSuccess: (answer) => {
      onRedraw()
      client.setQueryData(queryKey, answer)
    },
  })
  const since = [
    map.newer > 0 && words('mapNewer', { count: map.newer }),
    map.changed > 0 && words('mapChanged', { count: map.changed }),
    map.gone > 0 && words('mapGone', { count: map.gone }),
  ].filter(Boolean)
  return (
    <Group gap="xs" className={classes.freshness} role="status">
      <Text size="sm" c={since.length ? undefined : 'dimmed'}>
        {since.length
          ? words('mapSince', { what: since.join(words('mapAnd')) })
          : map.made_at && words('mapMade', { time: format.minute(map.made_at) })}
      </Text>
      {(since.length > 0 || redrawing) && (
        <Button
          size="compact-sm"
          variant="light"
          loading={redraw.isPending || redrawing}
          leftSection={<IconRefresh size={14} stroke={1.6} aria-hidden />}
          onClick={() => redraw.mutate()}
        >
          {words('mapRedraw')}
        </Button>
      )}
    </Group>
  )
}
