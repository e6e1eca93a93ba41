import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'

export type Line = Schema<'TraceLineOut'>
export type Kind = 'recall' | 'search' | 'ask' | 'injection' | 'composition'
export const KINDS: readonly Kind[] = ['recall', 'search', 'ask', 'injection', 'composition']

export const SPANS = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 } as const
export type Span = keyof typeof SPANS

export type Wanted = { kind?: Kind; space?: string; q?: string; span?: Span }

const EVERY = 3_000 // milliseconds
const AT_ONCE = 50

function query({ kind, space, q, span }: Wanted) {
  const from = span && new Date(Date.now() - SPANS[span]).toISOString()
  return { kind, space, q, from }
}

/** The traces that are wanted, the newest first: those that were there, and while `live` those that come. */
export function useTraces(wanted: Wanted, live: boolean) {
  const older = useInfiniteQuery({
    queryKey: ['traces', wanted],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/v1/traces', { params: { query: { ...query(wanted), limit: AT_ONCE, cursor: pageParam } } }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchOnWindowFocus: false,
    gcTime: 0,
  })
  // Asked again only while somebody looks at the page.
  const newest = useQuery({
    queryKey: ['traces', wanted, 'newest'],
    queryFn: () => ok(api.GET('/v1/traces', { params: { query: { ...query(wanted), limit: AT_ONCE } } })),
    enabled: live && older.isSuccess,
    refetchInterval: EVERY,
    gcTime: 0,
  })
  const [come, setCome] = useState<Line[]>([])
  const fresh = newest.data?.items
  useEffect(() => {
    if (fresh) setCome((before) => joined(before, fresh))
  }, [fresh])
  const lines = useMemo(
    () => joined(come, older.data?.pages.flatMap((page) => page.items) ?? []),
    [come, older.data],
  )
  return { lines, older }
}

function joined(some: Line[], others: Line[]): Line[] {
  const known = new Set(some.map((one) => one.id))
  const more = others.filter((one) => !known.has(one.id))
  if (more.length === 0) return some
  return [...some, ...more].sort((a, b) => (a.at === b.at ? (a.id < b.id ? 1 : -1) : a.at < b.at ? 1 : -1))
}

export function usePlaces() {
  return useQuery({
    queryKey: ['traces', 'places'],
    queryFn: () => ok(api.GET('/v1/traces/places')),
    staleTime: 30_000,
  })
}
