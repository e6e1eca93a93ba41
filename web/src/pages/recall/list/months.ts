import type { Schema } from '@/api/client'

export type Hit = Schema<'HitOut'>
export type Line =
  | { is: 'month'; key: string; at: string; count: number; open: boolean; last: boolean }
  | { is: 'capsule'; hit: Hit; first: boolean; last: boolean }

/** The lines of the list: a heading for each month, under it what was kept then, unless it is closed. */
export function byMonth(
  hits: readonly Hit[],
  monthKey: (at: string) => string,
  closed: ReadonlySet<string>,
): Line[] {
  const months = new Map<string, Hit[]>()
  for (const hit of hits) {
    const key = monthKey(hit.created_at)
    const month = months.get(key)
    if (month) month.push(hit)
    else months.set(key, [hit])
  }
  const keys = [...months.keys()]
  return [...months].flatMap(([key, inside]) => {
    const open = !closed.has(key)
    const last = key === keys.at(-1)
    const heading: Line = {
      is: 'month',
      key,
      at: inside[0]?.created_at ?? '',
      count: inside.length,
      open,
      last,
    }
    return open ? [heading, ...flat(inside)] : [heading]
  })
}

export function flat(hits: readonly Hit[]): Line[] {
  return hits.map((hit, place) => ({
    is: 'capsule',
    hit,
    first: place === 0,
    last: place === hits.length - 1,
  }))
}
