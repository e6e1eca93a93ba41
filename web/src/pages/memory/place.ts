import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, ok, type Schema } from '@/api/client'
import type { paths } from '@/api/schema'
import { useMe } from '@/app/session'
import { addDays, startOfDay } from '@/pages/recall/days'
import { type Changes, changed, useAddress } from '@/parts/address'

export type Shelved = Schema<'ShelvedOut'>
export type Whole = Schema<'WholeMemoryOut'>
export type Facet = 'kind' | 'user' | 'agent' | 'source'
type Query = NonNullable<paths['/v1/memory/all']['get']['parameters']['query']>

export const SHELF = ['shelf'] as const
export const FACETS: Facet[] = ['kind', 'user', 'agent', 'source']
const NAMES = [...FACETS, 'from', 'to', 'superseded', 'app_id', 'run_id', 'place', 'namespace'] as const
export const NO_FILTERS: Changes = Object.fromEntries(NAMES.map((name) => [name, null]))
const PAGE = 100
const DAY = /^\d{4}-\d\d-\d\d$/
const MEMORY = /^[a-z]+_[a-z0-9]{24}$/

/** Which memory is asked for and which is open, all of it in the address. */
export function useMemoryPlace() {
  const [params, change] = useAddress()
  const zone = useMe()?.user?.timezone ?? 'UTC'
  return useMemo(() => {
    const read = (name: string) => params.get(name)?.slice(0, 255) || undefined
    const day = (name: string) => (DAY.test(params.get(name) ?? '') ? (params.get(name) as string) : '')
    const [from, to] = [day('from'), day('to')]
    const memory = params.get('memory') ?? ''
    const asked = {
      kind: read('kind'),
      user: read('user'),
      agent: read('agent'),
      source: read('source'),
      app_id: read('app_id'),
      run_id: read('run_id'),
      place: read('place'),
      namespace: read('namespace')?.split('/').filter(Boolean),
      q: read('q'),
      from: from ? startOfDay(from, zone) : undefined,
      to: to ? startOfDay(addDays(to, 1), zone) : undefined,
      superseded: params.get('superseded') ? true : undefined,
    } as Query
    return {
      asked,
      from,
      to,
      memory: MEMORY.test(memory) ? memory : '',
      filtered: NAMES.some((name) => params.get(name)),
      set: (changes: Changes, replace = false) => change(changes, { replace, preventScrollReset: true }),
      with: (changes: Changes) => `?${changed(params, changes)}`,
    }
  }, [params, change, zone])
}

export type MemoryPlace = ReturnType<typeof useMemoryPlace>

export function useShelf(asked: Query) {
  return useInfiniteQuery({
    queryKey: [...SHELF, 'list', asked],
    queryFn: ({ pageParam, signal }) =>
      ok(
        api.GET('/v1/memory/all', {
          params: { query: { ...asked, limit: PAGE, cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })
}

export function useFacets(asked: Query) {
  return useQuery({
    queryKey: [...SHELF, 'counts', asked],
    queryFn: ({ signal }) => ok(api.GET('/v1/memory/all/counts', { params: { query: asked }, signal })),
    placeholderData: keepPreviousData,
  })
}

export function useWhole(id: string) {
  return useQuery({
    queryKey: [...SHELF, 'one', id],
    queryFn: ({ signal }) =>
      ok(api.GET('/v1/memory/all/{memory_id}', { params: { path: { memory_id: id } }, signal })),
    enabled: id !== '',
  })
}
