import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'

export type Workspace = Schema<'WorkspaceOut'>
export type Message = Schema<'MessageOut'>
export type Memory = Schema<'MemoryOut'>

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: async () =>
    (await ok(api.GET('/chat/api/workspaces', { params: { query: { limit: 200 } } }))).items,
})

export function useWorkspaces() {
  return useQuery(workspacesQuery)
}

/** The name that nobody gave is said in the reader's language. */
export function workspaceName(workspace: Workspace, unnamed: string): string {
  return workspace.is_default && workspace.name === 'Default' ? unnamed : workspace.name
}

export const chatQuery = (chat_id: string) =>
  queryOptions({
    queryKey: ['chat', chat_id],
    queryFn: () => ok(api.GET('/chat/api/chats/{chat_id}', { params: { path: { chat_id } } })),
  })

/** All that was said in a chat, in order. */
export const messagesQuery = (chat_id: string) =>
  queryOptions({
    queryKey: ['chat', chat_id, 'messages'],
    queryFn: async () => {
      const said: Message[] = []
      let cursor: string | undefined
      do {
        const query = { limit: 200, cursor }
        const page = await ok(
          api.GET('/chat/api/{chat_id}/messages', { params: { path: { chat_id }, query } }),
        )
        said.push(...page.items)
        cursor = page.next_cursor ?? undefined
      } while (cursor)
      return said
    },
  })

/** What was remembered from a chat. */
export const chatMemoriesQuery = (chat_id: string) =>
  queryOptions({
    queryKey: ['chat', chat_id, 'memories'],
    queryFn: async () =>
      (await ok(api.GET('/chat/api/{chat_id}/memories', { params: { path: { chat_id } } }))).memories,
  })

export const chatsKey = (workspace: string) => ['workspace', workspace, 'chats']
export const memoriesKey = (workspace: string) => ['workspace', workspace, 'memories']
export const filesKey = (workspace: string) => ['workspace', workspace, 'files']
export const artifactsKey = (workspace: string) => ['workspace', workspace, 'artifacts']
