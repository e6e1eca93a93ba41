import type { Pen, Zone } from '@/parts/board/Board'
import { hue } from '@/parts/board/hues'
import type { Ink } from '@/parts/board/ink'
import { type Name, placed, shortened, write } from '@/parts/board/labels'
import { type Cluster, heart, type Star } from './reading'

export type Looks = {
  clusters: readonly Cluster[]
  /** Until when; null is now. */
  at: number | null
  found: ReadonlySet<string> | null
  cluster: number | null
  chosen: string
  walked: string
  ink: Ink
  dark: boolean
}

const FAINT = 0.1
const ALONE = 0.5
const FONT = 'system-ui, "PingFang SC", "Noto Sans SC", sans-serif'
const FINE = 2 // a star is drawn once at twice its size, and copied

/** Stars in the colours of their clusters, and the names of these where none lies upon another. */
export function paintSky({ canvas, ...pen }: Pen, looks: Looks): Zone[] {
  const { clusters, at, found, ink, dark } = looks
  const total = clusters.reduce((sum, cluster) => sum + cluster.stars.length, 0)
  const base = total > 12_000 ? 1.6 : total > 2500 ? 2.4 : total > 500 ? 3.4 : 4.6
  const size = Math.min(base * Math.sqrt(Math.max(pen.zoom, 1)), 9)
  const marked: [Star, number, number][] = []
  for (const cluster of [...clusters].reverse()) {
    const away = looks.cluster !== null && looks.cluster !== cluster.number
    const color = hue(cluster.number, dark, ink.soft)
    const dot = dotOf(color, size)
    const strength = cluster.number < 0 ? ALONE : 0.88
    for (const star of cluster.stars) {
      if (at !== null && star.created > at) continue
      const [x, y] = pen.place(star)
      if (x < -size || y < -size || x > pen.width + size || y > pen.height + size) continue
      const meant = found?.has(star.id) ?? false
      canvas.globalAlpha = meant ? 1 : found || away ? FAINT : strength
      canvas.drawImage(dot, x - size - 1, y - size - 1, 2 * size + 2, 2 * size + 2)
      if (meant || star.id === looks.chosen || star.id === looks.walked || star.id === pen.pointed)
        marked.push([star, x, y])
    }
  }
  canvas.globalAlpha = 1
  for (const [star, x, y] of marked) {
    const near = star.id === looks.chosen || star.id === looks.walked || star.id === pen.pointed
    canvas.strokeStyle = near ? ink.text : hue(star.cluster, dark, ink.soft)
    canvas.lineWidth = near ? 2 : 1.2
    canvas.beginPath()
    canvas.arc(x, y, size + (near ? 4 : 2.5), 0, 2 * Math.PI)
    canvas.stroke()
  }
  const names = placed(canvas, named(looks, pen, size), pen)
  write(canvas, names, ink.card)
  return names
    .filter((name) => name.id !== '')
    .map(({ id, left, top, width, height }) => ({ id, left, top, width, height }))
}

function* named({ clusters, at, found, cluster, ink, dark }: Looks, pen: Omit<Pen, 'canvas'>, size: number) {
  const narrow = pen.width < 560
  const font = narrow ? 12 : 14
  for (const one of clusters) {
    if (one.number < 0 || (cluster !== null && cluster !== one.number)) continue
    const there = at === null ? one.stars : one.stars.filter((star) => star.created <= at)
    if (!there.length || (found && !there.some((star) => found.has(star.id)))) continue
    const [x, y] = pen.place(heart(one.stars))
    yield {
      id: String(one.number),
      text: shortened(one.label, narrow ? 20 : 32),
      x,
      y,
      gap: size + 2,
      size: font,
      font: `650 ${font}px ${FONT}`,
      color: hue(one.number, dark, ink.text),
    } satisfies Name
  }
  // From near, stars have names too: those that were found first.
  if (pen.zoom < 3 && !(found && found.size <= 40)) return
  for (const one of clusters)
    for (const star of one.stars) {
      if (at !== null && star.created > at) continue
      if (found ? !found.has(star.id) : cluster !== null && cluster !== one.number) continue
      const [x, y] = pen.place(star)
      if (x < 0 || y < 0 || x > pen.width || y > pen.height) continue
      yield {
        id: '',
        text: shortened(star.title, 30),
        x,
        y,
        gap: size + 2,
        size: 11.5,
        font: `400 11.5px ${FONT}`,
        color: ink.text,
      } satisfies Name
    }
}

const dots = new Map<string, HTMLCanvasElement>()

function dotOf(color: string, size: number): HTMLCanvasElement {
  const key = `${color} ${size.toFixed(1)}`
  const known = dots.get(key)
  if (known) return known
  if (dots.size > 500) dots.clear()
  const made = document.createElement('canvas')
  made.width = made.height = Math.ceil((2 * size + 2) * FINE)
  const pen = made.getContext('2d')
  if (pen) {
    pen.fillStyle = color
    pen.beginPath()
    pen.arc(made.width / 2, made.height / 2, size * FINE, 0, 2 * Math.PI)
    pen.fill()
  }
  dots.set(key, made)
  return made
}
