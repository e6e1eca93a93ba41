import { Text, UnstyledButton } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { chatsKey } from '@/parts/chat/workspace'
import { Marked } from '@/parts/Marked'
import classes from './Chats.module.css'
import { usePlaygroundWords } from './playground.words'

/** Chats in which something was said that is looked for; those whose title says it stand above already. */
export function FoundChats({
  workspace,
  sought,
  titled,
  onOpen,
}: {
  workspace: string
  sought: string
  titled: string[]
  onOpen: (chat: string) => void
}) {
  const words = usePlaygroundWords()
  const found = useQuery({
    queryKey: [...chatsKey(workspace), 'said', sought],
    queryFn: () =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/search', {
          params: {
            path: { workspace_id: workspace },
            query: { q: sought, type: ['message'], limit: 20 },
          },
        }),
      ),
    placeholderData: keepPreviousData,
  })
  const chats = new Map<string, { title: string; snippet: string }>()
  for (const one of found.data?.items ?? []) {
    const id = String(one.place?.chat_id ?? '')
    if (id && !chats.has(id)) chats.set(id, { title: one.title ?? '', snippet: one.snippet })
  }
  if (chats.size === 0)
    return titled.length === 0 && found.isSuccess ? (
      <Text size="sm" c="dimmed" p="xs">
        {words('noChatFound')}
      </Text>
    ) : null
  return (
    <>
      <Text size="xs" c="dimmed" px={10} pt={8} pb={2}>
        {words('saidIn')}
      </Text>
      {[...chats].map(([id, { title, snippet }]) => (
        <UnstyledButton
          key={id}
          className={`${classes.row} ${classes.found}`}
          data-row
          onClick={() => onOpen(id)}
        >
          <Text size="sm" truncate>
            {title || words('unnamed')}
          </Text>
          <Text size="xs" c="dimmed" lineClamp={2} component="div">
            <Marked html={snippet} />
          </Text>
        </UnstyledButton>
      ))}
    </>
  )
}
