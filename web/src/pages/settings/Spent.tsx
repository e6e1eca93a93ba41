import { Alert, Group, SegmentedControl, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Section } from './Section'
import { useSettingsWords } from './settings.words'
import { ACTIONS, byAction, byDay, MEASURES, PERIODS, range } from './spending'

const DayChart = lazy(() => import('./DayChart'))

/** What was used in some time: by day as bars, by what was called as a table. */
export function Spent() {
  const words = useSettingsWords()
  const format = useFormat()
  const [asked, ask] = useAddress()
  const period = PERIODS.find((one) => one === asked.get('period')) ?? 'month'
  const measure = MEASURES.find((one) => one === asked.get('measure')) ?? 'calls'
  const choose = (name: string, value: string) => ask({ [name]: value }, { replace: true })
  const [from, to] = range(period)
  const found = useQuery({
    queryKey: ['usage', from, to],
    queryFn: () => ok(api.GET('/v1/usage', { params: { query: { from, to, by: 'day,action' } } })),
  })
  const measured = {
    calls: words('calls'),
    queries: words('queriesShort'),
    credits: words('creditsShort'),
    tokens: words('tokens'),
  }
  const called = (action: string) => {
    const known = ACTIONS.find((one) => one === action)
    return known ? words(known) : action
  }
  return (
    <Section title={words('spent')}>
      <Group justify="space-between" mb="md" gap="sm">
        <SegmentedControl
          aria-label={words('period')}
          size="xs"
          value={period}
          onChange={(value) => choose('period', value)}
          data={[
            { value: 'month', label: words('periodMonth') },
            { value: '30', label: words('period30') },
            { value: '90', label: words('period90') },
          ]}
        />
        <SegmentedControl
          aria-label={words('measure')}
          size="xs"
          value={measure}
          onChange={(value) => choose('measure', value)}
          data={MEASURES.map((value) => ({ value, label: measured[value] }))}
        />
      </Group>
      {found.isPending && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && found.data.rows.length === 0 && (
        <Empty title={words('usageNone')}>{words('usageNoneHow')}</Empty>
      )}
      {found.data && found.data.rows.length > 0 && (
        <>
          {found.data.truncated && (
            <Alert color="yellow" mb="sm">
              {words('truncated')}
            </Alert>
          )}
          <Suspense fallback={<Waiting />}>
            <DayChart
              days={byDay(found.data.rows, from, to, measure)}
              name={called}
              label={words('chart', {
                measure: measured[measure],
                from: format.day(from),
                to: format.day(to),
                total: format.number(
                  byAction(found.data.rows).reduce((sum, row) => sum + (row[measure] ?? 0), 0),
                ),
              })}
            />
          </Suspense>
          <Text fw={600} mt="lg" mb="xs" component="h3" size="sm">
            {words('byAction')}
          </Text>
          <Actions rows={found.data.rows} called={called} />
        </>
      )}
    </Section>
  )
}

function Actions({ rows, called }: { rows: Schema<'RowOut'>[]; called: (action: string) => string }) {
  const words = useSettingsWords()
  const format = useFormat()
  const numbers = ['calls', 'queries', 'credits', 'tokens_in', 'tokens_out'] as const
  const heads = [
    words('calls'),
    words('queriesShort'),
    words('creditsShort'),
    words('tokensIn'),
    words('tokensOut'),
  ]
  return (
    <Table.ScrollContainer type="native" minWidth={560} tabIndex={0}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words('action')}</Table.Th>
            {heads.map((head) => (
              <Table.Th key={head} ta="end">
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {byAction(rows).map((row) => (
            <Table.Tr key={row.action}>
              <Table.Td>{called(row.action)}</Table.Td>
              {numbers.map((name) => (
                <Table.Td key={name} ta="end">
                  {format.number(row[name])}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
