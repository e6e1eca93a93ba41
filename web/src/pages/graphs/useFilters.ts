import { useMemo } from 'react'
import { useAddress } from '@/parts/address'
import { moment } from '@/parts/relevance/moment'

export const FILTERS = ['type', 'meta', 'start', 'end', 'as_of', 'least', 'superseded', 'deleted'] as const

const ABOVE: readonly string[] = ['as_of', 'superseded'] // they have their place above the list

/** The filters in the page's address, as written there (`raw`) and as the list of nodes takes them (`query`). */
export function useFilters() {
  const [params] = useAddress()
  const raw = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? ''])) as Record<
    (typeof FILTERS)[number],
    string
  >
  const key = JSON.stringify(raw) // stands for all of `raw` below
  return useMemo(() => {
    const metadata = readObject(raw.meta)
    return {
      raw,
      count: FILTERS.filter((name) => raw[name] && !ABOVE.includes(name)).length,
      metadata,
      query: {
        node_type: raw.type || undefined,
        metadata_filter: metadata && raw.meta ? raw.meta : undefined,
        start: moment(raw.start),
        end: moment(raw.end),
        as_of: moment(raw.as_of),
        superseded: raw.superseded ? true : undefined,
        deleted: raw.deleted ? true : undefined,
      },
    }
  }, [key])
}

export type Filters = ReturnType<typeof useFilters>

/** A JSON object out of what somebody typed; {} of nothing, undefined of anything else. */
export function readObject(text: string): Record<string, unknown> | undefined {
  if (!text.trim()) return {}
  try {
    const found: unknown = JSON.parse(text)
    return typeof found === 'object' && found !== null && !Array.isArray(found)
      ? (found as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
