import { keepPreviousData, type QueryClient, queryOptions, useQueries, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { api, ok } from '@/api/client'
import { LISTS } from '@/parts/capsules/queries'
import { startOfDay } from '../days'
import type { Asked } from './asked'
import { type Hit, layOut, type MonthOf, monthOfPosition } from './months'

export const PAGE = 50
const NONE: ReadonlySet<string> = new Set()

/** How many capsules there are of each month, of those that are asked for: from this the list knows its length. */
export function monthsQuery(asked: Asked) {
  return queryOptions({
    queryKey: [...LISTS, 'months', asked],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/v1/memory/capsules/counts', {
          params: { query: { ...asked, by: 'month' } },
          signal,
        }),
      ),
  })
}

/** A page of the list, by its number: it is begun at its month, so none before it is read. */
export function pageQuery(asked: Asked, page: number, zone: string) {
  return queryOptions({
    queryKey: [...LISTS, 'page', asked, page],
    queryFn: async ({ signal, client }) => {
      // As counted when it is asked for, not when it was drawn: a change of the list counts first.
      const counts = page > 0 ? await client.ensureQueryData(monthsQuery(asked)) : undefined
      const month = counts && monthOfPosition(layOut(counts.items, NONE).months, page * PAGE)
      const to = month && startOfDay(after(month.key), zone)
      const query = {
        ...asked,
        to: to && (!asked.to || to < asked.to) ? to : asked.to,
        skip: month ? page * PAGE - month.position : 0,
        limit: PAGE,
      }
      return (await ok(api.GET('/v1/memory/capsules', { params: { query }, signal }))).items
    },
  })
}

function after(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10)
}

export type Whole = {
  months: MonthOf[]
  lines: number
  count: number
  at: (position: number) => Hit | undefined
  placeOf: (id: string) => number | undefined
}

/**
 * All that is asked for as one list of known length, of which the pages in `wanted` are there. Until the first page of
 * another question has come, it is the list as it was, and `old`.
 */
export function useWhole(next: Asked, zone: string, wanted: readonly number[], closed: ReadonlySet<string>) {
  const [asked, setAsked] = useState(next)
  const counted = useQuery(monthsQuery(next))
  const first = useQuery(pageQuery(next, 0, zone))
  if (asked !== next && counted.data && first.data) setAsked(next)
  const shown = useQuery({ ...monthsQuery(asked), placeholderData: keepPreviousData })
  const laid = useMemo(() => layOut(shown.data?.items ?? [], closed), [shown.data, closed])
  const numbers = useMemo(() => [...new Set([0, ...wanted])], [wanted])
  const pages = useQueries({
    queries: numbers.map((page) => ({
      ...pageQuery(asked, page, zone),
      enabled: page === 0 || shown.data !== undefined,
    })),
    combine: (found) => ({
      items: found.map((one) => one.data),
      failed: found.find((one) => one.error && !one.data),
    }),
  })
  const whole: Whole = useMemo(() => {
    const known = new Map(numbers.map((page, place) => [page, pages.items[place]]))
    return {
      ...laid,
      at: (position) => known.get(Math.floor(position / PAGE))?.[position % PAGE],
      placeOf: (id) => {
        for (const [page, items] of known) {
          const place = items?.findIndex((one) => one.id === id) ?? -1
          if (place >= 0) return page * PAGE + place
        }
      },
    }
  }, [laid, numbers, pages.items])
  return {
    whole,
    ready: shown.data !== undefined,
    old: asked !== next,
    error: counted.error ?? first.error,
    failed: pages.failed,
    retry: () => {
      void counted.refetch()
      void first.refetch()
    },
  }
}

/** The capsules from one place to another, also those that nobody has seen yet. */
export async function read(
  client: QueryClient,
  asked: Asked,
  zone: string,
  [from, to]: readonly [number, number],
): Promise<Hit[]> {
  const pages: number[] = []
  for (let page = Math.floor(from / PAGE); page <= Math.floor(to / PAGE); page++) pages.push(page)
  const found: Hit[] = []
  for (const page of pages) {
    const items = await client.ensureQueryData(pageQuery(asked, page, zone))
    found.push(...items.filter((_, place) => page * PAGE + place >= from && page * PAGE + place <= to))
  }
  return found
}
