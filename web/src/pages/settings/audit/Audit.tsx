import { Code, Table, Text } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { AuditTools } from '@/parts/AuditTools'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { More } from './More'
import { Section } from './Section'
import { useSettingsWords } from './settings.words'

const WAYS = ['session', 'key', 'jwt', 'cli', 'job', 'webhook'] as const

/** Who did what: ids and names of actions, as the trail has them. */
export function Audit({ owner }: { owner: boolean }) {
  const words = useSettingsWords()
  const [action, setAction] = useState('')
  const found = useInfiniteQuery({
    queryKey: ['audit', action],
    queryFn: ({ pageParam: cursor }) =>
      ok(api.GET('/v1/audit', { params: { query: { cursor, limit: 25, action: action || undefined } } })),
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: 0,
  })
  const people = useQuery({
    queryKey: ['people', 'names'],
    queryFn: () => ok(api.GET('/v1/users', { params: { query: { limit: 200 } } })),
  })
  const names = new Map(people.data?.items.map((one) => [one.id, one.name || one.email]))
  const lines = found.data?.pages.flatMap((page) => page.items)
  return (
    <Section title={words('audit')} about={owner ? words('auditAll') : words('auditHow')}>
      <AuditTools path="/v1/audit/export" action={action} onAction={setAction} />
      {(found.isPending || (found.isPlaceholderData && lines?.length === 0)) && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {!found.isPlaceholderData && lines?.length === 0 && <Empty title={words('auditNone')} />}
      {lines && lines.length > 0 && (
        <Table.ScrollContainer type="native" minWidth={680} tabIndex={0}>
          <Table verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words('auditWhen')}</Table.Th>
                <Table.Th>{words('auditWhat')}</Table.Th>
                <Table.Th>{words('auditWho')}</Table.Th>
                <Table.Th>{words('auditVia')}</Table.Th>
                <Table.Th>{words('auditObject')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {lines.map((line) => (
                <Line key={line.id} line={line} who={line.user_id ? names.get(line.user_id) : undefined} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      <More of={found} />
    </Section>
  )
}

function Line({ line, who }: { line: Schema<'AuditOut'>; who: string | undefined }) {
  const words = useSettingsWords()
  const format = useFormat()
  const way = WAYS.find((one) => one === line.via)
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="xs" style={{ whiteSpace: 'nowrap' }}>
          {format.minute(line.at)}
        </Text>
      </Table.Td>
      <Table.Td>
        <Code>{line.action}</Code>
      </Table.Td>
      <Table.Td>
        <Text size="sm" truncate maw={180}>
          {who ?? line.user_id ?? '–'}
        </Text>
      </Table.Td>
      <Table.Td>
        <Text size="sm">{way ? words(way) : line.via}</Text>
      </Table.Td>
      <Table.Td>
        <Text size="xs" ff="monospace" c="dimmed" truncate maw={220} title={line.object_id ?? undefined}>
          {line.object_id}
        </Text>
      </Table.Td>
    </Table.Tr>
  )
}
