import { Button, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { chatsKey, type Workspace } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { ChatRow } from './ChatRow'
import classes from './Chats.module.css'
import { FoundChats } from './FoundChats'
import { usePlaygroundWords } from './playground.words'
import { WorkspaceMenu } from './WorkspaceMenu'

/** The column at the left: the workspace, and its chats, those first in which something was said last. */
export function Chats({
  workspaces,
  current,
  chat,
  onWorkspace,
  onChat,
  onShare,
}: {
  workspaces: Workspace[]
  current: Workspace
  chat: string | undefined
  onWorkspace: (id: string) => void
  onChat: (id: string | undefined) => void
  onShare: () => void
}) {
  const words = usePlaygroundWords()
  const [typed, setTyped] = useState('')
  const [sought] = useDebouncedValue(typed.trim(), 250)
  const chats = useInfiniteQuery({
    queryKey: [...chatsKey(current.id), 'chat', sought],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/chat/api/chats', {
          params: {
            query: {
              workspace_id: current.id,
              kind: 'chat',
              order: 'activity',
              q: sought,
              limit: 50,
              cursor: pageParam,
            },
          },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const items = chats.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <nav className={classes.column} aria-label={words('chats')}>
      <WorkspaceMenu workspaces={workspaces} current={current} onChoose={onWorkspace} onShare={onShare} />
      <Button
        variant="light"
        leftSection={<IconPlus size={16} stroke={1.8} aria-hidden />}
        onClick={() => onChat(undefined)}
        flex="none"
      >
        {words('newChat')}
      </Button>
      <TextInput
        type="search"
        aria-label={words('searchChats')}
        placeholder={words('searchChats')}
        leftSection={<IconSearch size={15} stroke={1.6} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        maxLength={255}
      />
      <div className={classes.list}>
        {chats.isPending && <Skeletons lines={8} height={44} />}
        {chats.isError && <Failed error={chats.error} retry={() => chats.refetch()} />}
        {chats.isSuccess && items.length === 0 && !sought && (
          <Text size="sm" c="dimmed" p="xs">
            {words('noChats')}
          </Text>
        )}
        {items.map((one) => (
          <ChatRow
            key={one.id}
            chat={one}
            here={one.id === chat}
            onOpen={() => onChat(one.id)}
            onDeleted={() => one.id === chat && onChat(undefined)}
          />
        ))}
        {chats.hasNextPage && (
          <Button
            variant="subtle"
            fullWidth
            size="compact-sm"
            mt={4}
            onClick={() => chats.fetchNextPage()}
            loading={chats.isFetchingNextPage}
          >
            {words('more')}
          </Button>
        )}
        {sought && (
          <FoundChats
            workspace={current.id}
            sought={sought}
            titled={items.map((one) => one.id)}
            onOpen={onChat}
          />
        )}
      </div>
    </nav>
  )
}
