import { useCallback } from 'react'
import { useLocation, useNavigate, useParams } from 'react-router'
import { changed, useAddress } from '@/parts/address'

export type Side = 'memories' | 'files'

/** Where one is: the chat in the path, the workspace and what is open beside it in the query. */
export function usePlace() {
  const go = useNavigate()
  const chat = useParams()['*']?.match(/^chat_[a-z0-9]{24}$/)?.[0]
  const { pathname, search } = useLocation()
  const [query, change] = useAddress()
  const side = query.get('side')
  const openChat = useCallback(
    (id: string | undefined, options?: { workspace?: string; replace?: boolean }) => {
      if (location.pathname !== pathname) return // they have gone elsewhere while it was being made
      const workspace = id ? null : options?.workspace
      const search = changed(location.search, { workspace, memory: null }).toString()
      go(
        { pathname: `/dashboard/playground${id ? `/${id}` : ''}`, search },
        { replace: options?.replace ?? false },
      )
    },
    [go, pathname],
  )
  const openSide = useCallback(
    (next: Side | null) => change({ side: next, memory: null }, { replace: true }),
    [change],
  )
  const memoryLink = useCallback(
    (memory: string) => `${pathname}?${changed(search, { side: 'memories', memory })}`,
    [pathname, search],
  )
  return {
    chat,
    workspace: query.get('workspace') ?? undefined,
    side: side === 'memories' || side === 'files' ? (side as Side) : null,
    memory: query.get('memory') ?? undefined,
    memoryLink,
    openChat,
    openSide,
  }
}
