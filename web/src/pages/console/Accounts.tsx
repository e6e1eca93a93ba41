import { Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Card } from './Card'
import { useConsoleWords } from './console.words'

const NUMBERS = ['calls', 'queries', 'credits', 'tokens_in', 'tokens_out'] as const

/** What each account used this month, those that used most first. */
export function Accounts() {
  const words = useConsoleWords()
  const format = useFormat()
  const found = useQuery({
    queryKey: ['console', 'usage'],
    queryFn: () => ok(api.GET('/x_console/api/usage')),
  })
  const accounts = found.data && 'accounts' in found.data ? found.data.accounts : undefined
  const heads = [
    words('calls'),
    words('queriesCount'),
    words('credits'),
    words('tokensIn'),
    words('tokensOut'),
  ]
  return (
    <Card title={words('used')} about={words('usedHow')}>
      {found.isPending && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {accounts && (
        <Table.ScrollContainer type="native" minWidth={760} tabIndex={0}>
          <Table verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words('accountId')}</Table.Th>
                <Table.Th>{words('plan')}</Table.Th>
                {heads.map((head) => (
                  <Table.Th key={head} ta="end">
                    {head}
                  </Table.Th>
                ))}
                <Table.Th ta="end">{words('left')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {accounts
                .toSorted((a, b) => b.calls - a.calls)
                .map((one) => (
                  <Table.Tr key={one.account_id}>
                    <Table.Td>
                      <Text size="xs" ff="monospace">
                        {one.account_id}
                      </Text>
                    </Table.Td>
                    <Table.Td>{one.plan}</Table.Td>
                    {NUMBERS.map((name) => (
                      <Table.Td key={name} ta="end">
                        {format.number(one[name])}
                      </Table.Td>
                    ))}
                    <Table.Td ta="end">
                      {one.credits_left === null ? '–' : format.number(one.credits_left)}
                    </Table.Td>
                  </Table.Tr>
                ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Card>
  )
}
