import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { api, ok, type Schema } from '@/api/client'

export type Scope = Schema<'ScopeOut'>
export type Said = Schema<'ScopeMessageOut'>

/** The conversations, those first in which somebody spoke last; with `q` those whose name has it in it. */
export function useScopes(q: string) {
  const found = useInfiniteQuery({
    queryKey: ['scopes', 'list', q],
    queryFn: ({ pageParam }) =>
      ok(api.GET('/v1/scopes', { params: { query: { limit: 100, cursor: pageParam, q: q || undefined } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: (before) => before,
  })
  const scopes = found.data?.pages.flatMap((page) => page.items) ?? []
  const spoken = (one: Scope) => Date.parse(one.last_at ?? one.created_at)
  return { found, scopes: scopes.toSorted((a, b) => spoken(b) - spoken(a)) }
}

/** After something was added to a scope, or corrected in it: what is shown of it is asked for again. */
export function useChanged() {
  const client = useQueryClient()
  return useCallback(() => client.invalidateQueries({ queryKey: ['scopes'] }), [client])
}

/** Where a page of a transcript begins: at its end, around a message, before or after one. */
type From = { end: true } | { around: string } | { before: string } | { after: string }

/** `up` and `down`: whether there is more on that side. */
type Part = { items: Said[]; up: boolean; down: boolean }

const AT_ONCE = 60
const BESIDE = 30
const MOST_PARTS = 12 // what is further away is dropped, and asked for again when somebody comes back

/** A conversation from its end, or around a message, as far as it is looked at in both directions. */
export function useTranscript(scope: string, around: string | null) {
  const read = (query: { at_message?: string; latest_first?: boolean; limit: number }) =>
    ok(api.GET('/v1/scopes/{scope_id}/messages', { params: { path: { scope_id: scope }, query } }))
  const earlier = async (id: string, limit: number): Promise<Part> => {
    const { items, has_more } = await read({ at_message: id, latest_first: true, limit })
    return { items: items.toReversed(), up: has_more, down: true }
  }
  const part = async (from: From): Promise<Part> => {
    if ('before' in from) return earlier(from.before, AT_ONCE)
    if ('after' in from) {
      const { items, has_more } = await read({ at_message: from.after, limit: AT_ONCE + 1 })
      return { items: items.slice(1), up: true, down: has_more }
    }
    if ('around' in from) {
      const [above, below] = await Promise.all([
        earlier(from.around, BESIDE),
        read({ at_message: from.around, limit: BESIDE }),
      ])
      const items = [...above.items, ...below.items]
      if (items.length) return { items, up: above.up, down: below.has_more }
    }
    const { items, has_more } = await read({ latest_first: true, limit: AT_ONCE })
    return { items: items.toReversed(), up: has_more, down: false }
  }
  return useInfiniteQuery({
    queryKey: ['scopes', 'transcript', scope, around],
    queryFn: ({ pageParam }) => part(pageParam),
    initialPageParam: (around ? { around } : { end: true }) as From,
    getPreviousPageParam: ({ items, up }): From | undefined =>
      up && items[0] ? { before: items[0].message_id } : undefined,
    getNextPageParam: ({ items, down }): From | undefined => {
      const last = items.at(-1)
      return down && last ? { after: last.message_id } : undefined
    },
    maxPages: MOST_PARTS,
    refetchOnWindowFocus: false,
  })
}

/** The first message of a day or later; null where nobody spoke since. */
export async function firstSince(scope: string, from: string): Promise<string | null> {
  const query = { from, limit: 1 }
  const { items } = await ok(
    api.GET('/v1/scopes/{scope_id}/messages', { params: { path: { scope_id: scope }, query } }),
  )
  return items[0]?.message_id ?? null
}
