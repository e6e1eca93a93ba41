import { Button, Code, Stack, Table, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { jobsQuery } from './asks'
import { Card } from './Card'
import { Counts } from './Counts'
import { useConsoleWords } from './console.words'

export function Jobs() {
  const words = useConsoleWords()
  const found = useQuery(jobsQuery)
  if (found.isPending) return <Waiting />
  if (found.isError) return <Failed error={found.error} retry={found.refetch} />
  const { counts, lanes, tasks, failures, workers } = found.data
  return (
    <Stack>
      <Card title={words('queue')} about={words('workers', { count: workers })}>
        <Counts of={counts} />
      </Card>
      <Card title={words('lanes')} about={words('lanesHow')}>
        <Statuses
          name={words('lane')}
          of={lanes.map(({ lane, ...counted }) => ({ name: lane, ...counted }))}
        />
      </Card>
      <Card title={words('failures')} about={words('failuresHow')}>
        {failures.length === 0 ? <Text size="sm">{words('failuresNone')}</Text> : <Failures of={failures} />}
      </Card>
      <Card title={words('byTask')}>
        {tasks.length === 0 ? (
          <Text size="sm">{words('quiet')}</Text>
        ) : (
          <Statuses
            name={words('task')}
            of={tasks.map(({ task, ...counted }) => ({ name: task, ...counted }))}
          />
        )}
      </Card>
    </Stack>
  )
}

type Counted = { name: string; todo: number; doing: number; failed: number }

function Statuses({ name, of }: { name: string; of: Counted[] }) {
  const words = useConsoleWords()
  const format = useFormat()
  const statuses = ['todo', 'doing', 'failed'] as const
  return (
    <Table verticalSpacing={6}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{name}</Table.Th>
          {statuses.map((status) => (
            <Table.Th key={status} ta="end">
              {words(status)}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map((one) => (
          <Table.Tr key={one.name}>
            <Table.Td>
              <Code>{one.name}</Code>
            </Table.Td>
            {statuses.map((status) => (
              <Table.Td key={status} ta="end">
                {format.number(one[status])}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Failures({ of }: { of: Schema<'FailureOut'>[] }) {
  const words = useConsoleWords()
  const format = useFormat()
  const client = useQueryClient()
  const retry = useMutation({
    mutationFn: (job_id: number) =>
      ok(api.POST('/x_console/api/jobs/{job_id}/retry', { params: { path: { job_id } } })),
    onSuccess: (_, id) => notifications.show({ message: words('retried', { id }) }),
    onSettled: () => client.invalidateQueries({ queryKey: jobsQuery.queryKey }),
  })
  return (
    <Table.ScrollContainer type="native" minWidth={600} tabIndex={0}>
      <Table verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words('job')}</Table.Th>
            <Table.Th>{words('task')}</Table.Th>
            <Table.Th>{words('error')}</Table.Th>
            <Table.Th ta="end">{words('attempts')}</Table.Th>
            <Table.Th>{words('when')}</Table.Th>
            <Table.Td />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {of.map((one) => (
            <Table.Tr key={one.id}>
              <Table.Td>{one.id}</Table.Td>
              <Table.Td>
                <Code>{one.task}</Code>
              </Table.Td>
              <Table.Td>{one.error ? <Code>{one.error}</Code> : '–'}</Table.Td>
              <Table.Td ta="end">{format.number(one.attempts)}</Table.Td>
              <Table.Td>{one.changed_at ? format.minute(one.changed_at) : '–'}</Table.Td>
              <Table.Td ta="end">
                <Button
                  size="xs"
                  variant="default"
                  loading={retry.isPending && retry.variables === one.id}
                  onClick={() => retry.mutate(one.id)}
                  aria-label={words('retryNamed', { id: one.id })}
                >
                  {words('retry')}
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
