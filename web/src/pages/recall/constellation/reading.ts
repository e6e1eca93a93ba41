import type { Schema } from '@/api/client'

export type Star = { id: string; title: string; x: number; y: number }
export type Cluster = { number: number; label: string; x: number; y: number; stars: Star[] }

/** Clusters with what lies in each, the largest first; at the end what lies alone (number -1). */
export function readSky({ points, clusters }: Schema<'ConstellationOut'>): Cluster[] {
  const found = new Map<number, Cluster>(
    clusters.map((one) => [
      Number(one.cluster),
      {
        number: Number(one.cluster),
        label: String(one.label),
        x: Number(one.x),
        y: Number(one.y),
        stars: [],
      },
    ]),
  )
  const alone: Cluster = { number: -1, label: '', x: 0, y: 0, stars: [] }
  for (const point of points) {
    const star = { id: String(point.id), title: String(point.title), x: Number(point.x), y: Number(point.y) }
    ;(found.get(Number(point.cluster)) ?? alone).stars.push(star)
  }
  for (const cluster of found.values()) cluster.label ||= cluster.stars[0]?.title ?? ''
  const sorted = [...found.values()].sort((one, other) => other.stars.length - one.stars.length)
  return alone.stars.length ? [...sorted, alone] : sorted
}
