import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { LISTS } from '@/parts/capsules/queries'
import { usePlace } from '../place'
import type { Asked } from './asked'

const PAGE = 50

/** What a search finds, page by page; until the next question is answered, what the last one found. */
export function useFound(asked: Asked) {
  const { q, mode } = usePlace()
  const [loose, setLoose] = useState('') // the question of which also less relevant results are wanted
  const query = {
    ...asked,
    q,
    mode,
    limit: PAGE,
    min_relevance: mode !== 'literal' && loose === q ? 0 : undefined,
  }
  const found = useInfiniteQuery({
    queryKey: [...LISTS, 'found', query],
    queryFn: ({ pageParam, signal }) =>
      ok(api.GET('/v1/memory/capsules', { params: { query: { ...query, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: (before) => before,
    enabled: q !== '',
  })
  const degraded = found.data?.pages[0]?.degraded === 'literal'
  return {
    ...found,
    items: found.data?.pages.flatMap((page) => page.items) ?? [],
    degraded,
    ranked: mode !== 'literal' && !degraded,
    loose: loose === q,
    loosen: () => setLoose(q),
    few: (found.data?.pages[0]?.items.length ?? 0) < PAGE,
  }
}
