import { Text, Timeline } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { type FactScope, historyQuery } from './facts'
import classes from './Rooms.module.css'

/** Every value that a fact had, the latest first. */
export function FactHistory({ scope, name }: { scope: FactScope; name: string }) {
  const format = useFormat()
  const found = useQuery(historyQuery(scope, name))
  if (found.isError) return <Failed error={found.error} retry={found.refetch} />
  return (
    <Timeline bulletSize={10} lineWidth={2} mt="sm">
      {found.data?.map((one) => (
        <Timeline.Item key={one.id}>
          <div className={classes.code}>{JSON.stringify(one.value)}</div>
          <Text size="xs" c="dimmed">
            {format.minute(one.valid_from)}
            {one.valid_to && ` – ${format.minute(one.valid_to)}`}
          </Text>
        </Timeline.Item>
      ))}
    </Timeline>
  )
}
