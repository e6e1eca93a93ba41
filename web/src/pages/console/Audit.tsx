import { Button, Center, Code, Stack, Table, Text } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { AuditTools } from '@/parts/AuditTools'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { useConsoleWords } from './console.words'

/** Who did what in all accounts: ids and names of actions. */
export function Audit() {
  const frame = useFrameWords()
  const words = useConsoleWords()
  const format = useFormat()
  const [action, setAction] = useState('')
  const found = useInfiniteQuery({
    queryKey: ['console', 'audit', action],
    queryFn: ({ pageParam: cursor }) =>
      ok(api.GET('/x_console/api/audit', { params: { query: { cursor, action: action || undefined } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  const lines = found.data?.pages.flatMap((page) => page.items)
  return (
    <Stack gap="xs">
      <AuditTools path="/x_console/api/audit/export" action={action} onAction={setAction} />
      {(found.isPending || (found.isPlaceholderData && lines?.length === 0)) && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {!found.isPlaceholderData && lines?.length === 0 && <Empty title={words('auditNone')} />}
      {lines && lines.length > 0 && (
        <Table.ScrollContainer type="native" minWidth={760} tabIndex={0}>
          <Table verticalSpacing={6} aria-label={words('audit')}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words('auditWhen')}</Table.Th>
                <Table.Th>{words('auditWhat')}</Table.Th>
                <Table.Th>{words('auditWho')}</Table.Th>
                <Table.Th>{words('auditObject')}</Table.Th>
                <Table.Th>{words('accountId')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {lines.map((line) => (
                <Table.Tr key={line.id}>
                  <Table.Td>
                    <Text size="xs" style={{ whiteSpace: 'nowrap' }}>
                      {format.minute(line.at)}
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    <Code>{line.action}</Code>
                  </Table.Td>
                  {[line.user_id ?? line.via, line.object_id, line.account_id].map((id, place) => (
                    <Table.Td key={place}>
                      <Text size="xs" ff="monospace" truncate maw={220} title={id ?? undefined}>
                        {id}
                      </Text>
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {found.hasNextPage && (
        <Center>
          <Button variant="subtle" loading={found.isFetchingNextPage} onClick={() => found.fetchNextPage()}>
            {frame('more')}
          </Button>
        </Center>
      )}
    </Stack>
  )
}
