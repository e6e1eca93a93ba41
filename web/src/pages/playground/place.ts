import { useCallback } from 'react'
import { useNavigate, useParams, useSearchParams } from 'react-router'

export type Side = 'memories' | 'files'

/** Where one is: the chat in the path, the workspace and what is open beside it in the query. */
export function usePlace() {
  const go = useNavigate()
  const chat = useParams()['*']?.match(/^chat_[a-z0-9]{24}$/)?.[0]
  const [query, setQuery] = useSearchParams()
  const side = query.get('side')
  const openChat = useCallback(
    (id: string | undefined, options?: { workspace?: string; replace?: boolean }) => {
      const next = new URLSearchParams(query)
      next.delete('workspace')
      if (options?.workspace && !id) next.set('workspace', options.workspace)
      const search = next.toString()
      go(
        { pathname: `/dashboard/playground${id ? `/${id}` : ''}`, search },
        { replace: options?.replace ?? false },
      )
    },
    [go, query],
  )
  const openSide = useCallback(
    (next: Side | null) =>
      setQuery(
        (before) => {
          if (next) before.set('side', next)
          else before.delete('side')
          return before
        },
        { replace: true },
      ),
    [setQuery],
  )
  return {
    chat,
    workspace: query.get('workspace') ?? undefined,
    side: side === 'memories' || side === 'files' ? (side as Side) : null,
    openChat,
    openSide,
  }
}
