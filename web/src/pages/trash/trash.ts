import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import type { ThingKind } from '@/parts/things/things'

export type Gone = Schema<'DiscardedOut'>
export const TRASH = ['trash'] as const
export const MOST = 100 // are restored at once
const DAY = 86_400_000

export function useGone(kind: ThingKind | undefined, q: string | undefined) {
  return useInfiniteQuery({
    queryKey: [...TRASH, 'list', kind, q],
    queryFn: ({ pageParam, signal }) =>
      ok(api.GET('/v1/trash', { params: { query: { kind, q, limit: 100, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })
}

export function useKindCounts(q: string | undefined) {
  return useQuery({
    queryKey: [...TRASH, 'counts', q],
    queryFn: ({ signal }) => ok(api.GET('/v1/trash/counts', { params: { query: { q } }, signal })),
    placeholderData: keepPreviousData,
  })
}

export function daysLeft(gone: Gone): number {
  return Math.max(0, Math.ceil((Date.parse(gone.expires_at) - Date.now()) / DAY))
}

/** Page after page as one list, cut where a new day begins. */
export function byDay(things: readonly Gone[], dayOf: (at: string) => string): [string, Gone[]][] {
  const days = new Map<string, Gone[]>()
  for (const one of things) {
    const day = dayOf(one.deleted_at)
    days.set(day, [...(days.get(day) ?? []), one])
  }
  return [...days]
}
