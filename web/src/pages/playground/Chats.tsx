import { Button, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { chatsKey, type Workspace } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { ChatRow } from './ChatRow'
import classes from './Chats.module.css'
import { usePlaygroundWords } from './playground.words'
import { WorkspaceMenu } from './WorkspaceMenu'

/** The column at the left: the workspace, and its chats. */
export function Chats({
  workspaces,
  current,
  chat,
  onWorkspace,
  onChat,
}: {
  workspaces: Workspace[]
  current: Workspace
  chat: string | undefined
  onWorkspace: (id: string) => void
  onChat: (id: string | undefined) => void
}) {
  const words = usePlaygroundWords()
  const chats = useInfiniteQuery({
    queryKey: chatsKey(current.id),
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/chat/api/chats', {
          params: { query: { workspace_id: current.id, limit: 50, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const items = chats.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <nav className={classes.column} aria-label={words('chats')}>
      <WorkspaceMenu workspaces={workspaces} current={current} onChoose={onWorkspace} />
      <Button
        variant="light"
        leftSection={<IconPlus size={16} stroke={1.8} aria-hidden />}
        onClick={() => onChat(undefined)}
        flex="none"
      >
        {words('newChat')}
      </Button>
      <div className={classes.list}>
        {chats.isPending && <Waiting />}
        {chats.isError && <Failed error={chats.error} retry={() => chats.refetch()} />}
        {chats.isSuccess && items.length === 0 && (
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
      </div>
    </nav>
  )
}
