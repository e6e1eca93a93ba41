import { Progress, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ApiError, api, ok } from '@/api/client'
import { CAPSULES } from '@/parts/capsules/queries'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { useRecallWords } from '../recall.words'
import { Clusters } from './Clusters'
import { readSky } from './reading'
import { Sky } from './Sky'

const NEEDED = 30
const AGAIN = 3000 // ms, while it is being made

/** The map of everything: what means alike lies close together. */
export default function Constellation({ count }: { count: number }) {
  const words = useRecallWords()
  const found = useQuery({
    queryKey: [...CAPSULES, 'constellation'],
    queryFn: () => ok(api.GET('/v1/memory/capsules/constellation')),
    enabled: count >= NEEDED,
    refetchInterval: (query) => (query.state.data?.made_at === null ? AGAIN : false),
  })
  const clusters = useMemo(() => (found.data ? readSky(found.data) : []), [found.data])
  if (count < NEEDED || (found.error instanceof ApiError && found.error.status === 409)) {
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
              {words('earlyCount', { count })}
            </Text>
          </>
        }
      >
        {words('earlyText')}
      </Empty>
    )
  }
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  if (found.isPending || found.data.made_at === null) {
    return (
      <Empty title={words('making')} action={<Waiting />}>
        {words('makingText')}
      </Empty>
    )
  }
  return (
    <>
      <Sky clusters={clusters} />
      <Clusters clusters={clusters} />
    </>
  )
}
