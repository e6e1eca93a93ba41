import type { Schema } from '@/api/client'

export type Star = {
  id: string
  title: string
  kind: string
  tags: string[]
  created: number
  cluster: number
  x: number
  y: number
}
export type Cluster = { number: number; label: string; stars: Star[] }

/** Clusters with what lies in each, the largest first; at the end what lies alone (number -1). */
export function readSky({ points, clusters }: Schema<'ConstellationOut'>): Cluster[] {
  const found = new Map<number, Cluster>(
    clusters.map((one) => {
      const number = Number(one.cluster)
      return [number, { number, label: String(one.label), stars: [] }]
    }),
  )
  const alone: Cluster = { number: -1, label: '', stars: [] }
  for (const point of points) {
    const home = found.get(Number(point.cluster)) ?? alone
    home.stars.push({
      id: String(point.id),
      title: String(point.title),
      kind: String(point.kind),
      tags: Array.isArray(point.tags) ? point.tags.map(String) : [],
      created: Date.parse(String(point.created_at)),
      cluster: home.number,
      x: Number(point.x),
      y: -Number(point.y), // up is up
    })
  }
  for (const cluster of found.values()) cluster.label ||= cluster.stars[0]?.title ?? ''
  const sorted = [...found.values()].sort((one, other) => other.stars.length - one.stars.length)
  return alone.stars.length ? [...sorted, alone] : sorted
}

/** Where the name of a cluster belongs: in the middle of most of it, whatever strayed. */
export function heart(stars: readonly Star[]): { x: number; y: number } {
  const middle = (values: number[]) => values.sort((one, other) => one - other)[values.length >> 1] ?? 0
  return { x: middle(stars.map((star) => star.x)), y: middle(stars.map((star) => star.y)) }
}

/** Whether all words that were typed stand in the title or the tags. */
export function says(star: Star, words: readonly string[]): boolean {
  const told = `${star.title}\n${star.tags.join('\n')}`.toLowerCase()
  return words.every((word) => told.includes(word))
}
