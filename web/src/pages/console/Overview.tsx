import { Badge, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Accounts } from './Accounts'
import { healthQuery, jobsQuery } from './asks'
import { Card } from './Card'
import classes from './Console.module.css'
import { Counts } from './Counts'
import { useConsoleWords } from './console.words'

export function Overview() {
  const words = useConsoleWords()
  const health = useQuery(healthQuery)
  const jobs = useQuery(jobsQuery)
  return (
    <Stack>
      {health.isPending && <Waiting />}
      {health.isError && <Failed error={health.error} retry={health.refetch} />}
      {health.data && <Health of={health.data} />}
      {jobs.data && (
        <Card title={words('queue')}>
          <Counts of={jobs.data.counts} />
        </Card>
      )}
      <Accounts />
    </Stack>
  )
}

function Health({ of }: { of: Schema<'Ready'> }) {
  const words = useConsoleWords()
  const format = useFormat()
  const about = (part: Schema<'Part'>, name: string) => {
    const value = part.details?.[name]
    return value === null || value === undefined ? '–' : String(value)
  }
  const models = (of.embedder.details?.models ?? []) as string[]
  const parts: [string, Schema<'Part'>, string][] = [
    [
      words('database'),
      of.database,
      words('postgres', {
        version: about(of.database, 'server_version').split(' ')[0] ?? '',
        vector: about(of.database, 'pgvector'),
      }),
    ],
    [words('worker'), of.worker, words('workers', { count: Number(of.worker.details?.workers ?? 0) })],
    [words('embedder'), of.embedder, models.join(', ')],
  ]
  const pending = of.pending_embeddings ?? 0
  const ready = of.status === 'ready'
  return (
    <Card
      title={words('health')}
      about={words('version', { version: of.version ?? '' })}
      action={
        <Badge color={ready ? undefined : 'red.8'} variant={ready ? 'light' : 'filled'} role="status">
          {ready ? words('ready') : words('notReady')}
        </Badge>
      }
    >
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        {parts.map(([name, part, more]) => (
          <Group key={name} align="flex-start" gap="xs" wrap="nowrap">
            <span className={classes.dot} data-ok={part.ok || undefined} aria-hidden />
            <div className={classes.words}>
              <Text size="sm" fw={500} lh={1.2}>
                {name}: {part.status === 'ok' ? words('ok') : part.status}
              </Text>
              <Text size="xs" c="dimmed">
                {more}
              </Text>
            </div>
          </Group>
        ))}
        <Group align="flex-start" gap="xs" wrap="nowrap">
          <span className={classes.dot} data-ok={pending === 0 || undefined} aria-hidden />
          <div>
            <Text size="sm" fw={500} lh={1.2}>
              {words('pending')}: {format.number(pending)}
            </Text>
            <Text size="xs" c="dimmed">
              {pending === 0 ? words('pendingNone') : words('pendingHow', { count: pending })}
            </Text>
          </div>
        </Group>
      </SimpleGrid>
    </Card>
  )
}
