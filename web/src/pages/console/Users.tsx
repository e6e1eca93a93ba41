import { Anchor, Badge, Button, Center, Group, Progress, Stack, Table, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { useConsoleWords } from './console.words'

export function Users() {
  const frame = useFrameWords()
  const words = useConsoleWords()
  const [asked, ask] = useSearchParams()
  const q = asked.get('q') ?? ''
  const [typed, setTyped] = useState(q)
  const look = useDebouncedCallback((text: string) => ask(text ? { q: text } : {}, { replace: true }), 250)
  const found = useInfiniteQuery({
    queryKey: ['console', 'users', q],
    queryFn: ({ pageParam: cursor }) =>
      ok(api.GET('/x_console/api/users', { params: { query: { q: q || undefined, cursor } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })
  const users = found.data?.pages.flatMap((page) => page.items)
  return (
    <Stack>
      <TextInput
        type="search"
        aria-label={words('searchHow')}
        placeholder={words('searchHow')}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value)
          look(event.currentTarget.value.trim())
        }}
        maw={420}
        maxLength={254}
      />
      {(found.isPending || (found.isPlaceholderData && users?.length === 0)) && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {!found.isPlaceholderData && users?.length === 0 && (
        <Empty title={words('userNone')}>{words('userNoneHow')}</Empty>
      )}
      {users && users.length > 0 && (
        <Table.ScrollContainer type="native" minWidth={340} tabIndex={0}>
          <Table highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words('user')}</Table.Th>
                <Table.Th visibleFrom="xs">{words('plan')}</Table.Th>
                <Table.Th visibleFrom="sm">{words('role')}</Table.Th>
                <Table.Th>{words('keeps')}</Table.Th>
                <Table.Th visibleFrom="sm">{words('lastLogin')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {users.map((user) => (
                <UserRow key={user.id} user={user} />
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

function UserRow({ user }: { user: Schema<'ResidentOut'> }) {
  const words = useConsoleWords()
  const format = useFormat()
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs">
          <Anchor component={Link} to={`/x_console/users/${user.id}`} size="sm" fw={500}>
            {user.email}
          </Anchor>
          {user.is_admin && <Badge variant="light">{words('admin')}</Badge>}
        </Group>
      </Table.Td>
      <Table.Td visibleFrom="xs">{user.plan}</Table.Td>
      <Table.Td visibleFrom="sm">{user.role === 'owner' ? words('owner') : words('member')}</Table.Td>
      <Table.Td>
        <Kept user={user} />
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Text size="sm">{user.last_login_at ? format.minute(user.last_login_at) : words('never')}</Text>
      </Table.Td>
    </Table.Tr>
  )
}

/** How much somebody keeps of what they may. */
export function Kept({ user }: { user: Schema<'ResidentOut'> }) {
  const words = useConsoleWords()
  const format = useFormat()
  const { used_bytes: used, capacity_bytes: all } = user
  const share = all ? Math.min(1, used / all) : all === 0 ? 1 : 0
  return (
    <Stack gap={4} maw={200}>
      <Text size="sm">
        {all === null
          ? words('unlimited', { used: format.bytes(used) })
          : words('of', { used: format.bytes(used), all: format.bytes(all) })}
      </Text>
      {all !== null && (
        <Progress
          size="xs"
          value={share * 100}
          color={share >= 0.95 ? 'red' : undefined}
          aria-label={words('keeps')}
        />
      )}
    </Stack>
  )
}
