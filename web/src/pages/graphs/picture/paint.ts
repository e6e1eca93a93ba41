import type { Pen, Zone } from '@/parts/board/Board'
import { hue } from '@/parts/board/hues'
import type { Ink } from '@/parts/board/ink'
import { type Name, placed, shortened, write } from '@/parts/board/labels'
import type { Drawn } from '../calls'
import { heldUntil } from './shown'
import type { Places } from './useSettled'

export type Looks = {
  drawn: Drawn
  places: Places
  types: readonly string[]
  at: number | null
  chosen: string | null
  middle: string | null
  lit: ReadonlySet<string> | null
  ink: Ink
  dark: boolean
}
type Node = Drawn['nodes'][number]

const FAINT = 0.12
const PAST = 0.4
const FONT = 'system-ui, "PingFang SC", "Noto Sans SC", sans-serif'
const CROWD = 400 // nodes in sight: among more, names lie upon some
const ARROWS = 1500 // edges: more have none until one comes near

/** Edges, nodes and names, those with most edges first; what is not meant is faint. */
export function paintGraph({ canvas, ...pen }: Pen, looks: Looks): Zone[] {
  const { drawn, places, types, ink, dark, chosen, lit } = looks
  const about = pen.pointed ?? chosen
  const near = about ? new Set([about]) : null
  if (near)
    for (const edge of drawn.edges) {
      if (edge.from_id === about) near.add(edge.to_id)
      if (edge.to_id === about) near.add(edge.from_id)
    }
  const strong = (id: string): boolean =>
    (!near || near.has(id) || id === chosen) && (!lit || lit.has(id) || near?.has(id) === true)
  const scale = Math.min(1.5, Math.max(0.55, Math.sqrt(pen.zoom) * (drawn.nodes.length > 250 ? 0.6 : 1)))
  const radius = (node: Node) =>
    (Math.min(4.5 + 1.9 * Math.sqrt(node.degree), 17) + (node.id === looks.middle ? 4 : 0)) * scale
  const spots = new Map<string, readonly [number, number, number]>()
  for (const node of drawn.nodes) {
    const place = places.get(node.id)
    if (place) spots.set(node.id, [...pen.place(place), radius(node)])
  }

  for (const edge of drawn.edges) {
    const replaced = edge.edge_type === 'supersedes'
    // What was superseded points to what took its place.
    const from = spots.get(replaced ? edge.to_id : edge.from_id)
    const to = spots.get(replaced ? edge.from_id : edge.to_id)
    if (!from || !to) continue
    const mine = about !== null && (edge.from_id === about || edge.to_id === about)
    canvas.globalAlpha = mine
      ? 0.95
      : near
        ? FAINT
        : lit && !(lit.has(edge.from_id) && lit.has(edge.to_id))
          ? FAINT
          : 0.75
    canvas.strokeStyle = canvas.fillStyle = mine ? ink.accent : ink.edge
    canvas.lineWidth = mine ? 1.8 : 1
    canvas.setLineDash(replaced ? [5, 4] : [])
    arrow(canvas, from, to, mine || drawn.edges.length < ARROWS || pen.zoom > 3)
  }
  canvas.setLineDash([])

  for (const node of drawn.nodes) {
    const spot = spots.get(node.id)
    if (!spot || !inside(spot, pen)) continue
    const [x, y, size] = spot
    const past = heldUntil(node, looks.at)
    canvas.globalAlpha = strong(node.id) ? (past ? PAST : 1) : past ? FAINT / 2 : FAINT * 1.6
    canvas.fillStyle = hue(types.indexOf(node.node_type), dark, ink.soft)
    canvas.beginPath()
    canvas.arc(x, y, size, 0, 2 * Math.PI)
    canvas.fill()
    if (past || node.id === chosen || node.id === pen.pointed) {
      canvas.globalAlpha = past && node.id !== chosen && node.id !== pen.pointed ? 0.8 : 1
      canvas.strokeStyle = node.id === chosen ? ink.text : ink.soft
      canvas.lineWidth = node.id === chosen ? 3 : 1.5
      canvas.setLineDash(past ? [3, 3] : [])
      canvas.beginPath()
      canvas.arc(x, y, size + 2.5, 0, 2 * Math.PI)
      canvas.stroke()
      canvas.setLineDash([])
    }
  }
  canvas.globalAlpha = 1
  const seen = [...spots.values()].filter((spot) => inside(spot, pen))
  const names = placed(canvas, named(looks, pen, spots, strong), pen, {
    most: Math.round((pen.width * pen.height) / 9000),
    around: seen.length > CROWD ? [] : seen.map(boxOf),
  })
  write(canvas, names, ink.card)
  return names.map(({ id, left, top, width, height }) => ({ id, left, top, width, height }))
}

function* named(
  { drawn, ink, chosen, lit, middle, at }: Looks,
  pen: Omit<Pen, 'canvas'>,
  spots: ReadonlyMap<string, readonly [number, number, number]>,
  strong: (id: string) => boolean,
): Generator<Name> {
  const first = (node: Node) =>
    (node.id === pen.pointed || node.id === chosen ? 4 : 0) +
    (node.id === middle ? 2 : 0) +
    (lit?.has(node.id) ? 1 : 0)
  // They come with the most edges first; that order stays among equals.
  const order = drawn.nodes.filter((node) => strong(node.id)).sort((one, other) => first(other) - first(one))
  // Many nodes from afar: only those that much hangs on have a name.
  const least =
    drawn.nodes.length > 300 ? Math.max(0, Math.round(4 - 2 * Math.log2(Math.max(pen.zoom, 0.5)))) : 0
  const letters = pen.width < 500 ? 24 : 38
  for (const node of order) {
    const spot = spots.get(node.id)
    if (!spot || (node.degree < least && !first(node))) continue
    const bold = node.degree >= 8 || first(node) > 1
    yield {
      id: node.id,
      text: shortened(node.text, letters),
      x: spot[0],
      y: spot[1],
      gap: spot[2] + 3,
      size: bold ? 12.5 : 11.5,
      font: `${bold ? 600 : 400} ${bold ? 12.5 : 11.5}px ${FONT}`,
      color: heldUntil(node, at) ? ink.soft : ink.text,
    }
  }
  if (pen.zoom < 1.4 && drawn.edges.length > 60) return
  for (const edge of drawn.edges) {
    const [from, to] = [spots.get(edge.from_id), spots.get(edge.to_id)]
    if (!from || !to || !strong(edge.from_id) || !strong(edge.to_id)) continue
    if (Math.hypot(to[0] - from[0], to[1] - from[1]) < 70) continue
    yield {
      id: edge.from_id,
      text: edge.edge_type.replaceAll('_', ' '),
      x: (from[0] + to[0]) / 2,
      y: (from[1] + to[1]) / 2 - 7,
      gap: 0,
      size: 10.5,
      font: `italic 400 10.5px ${FONT}`,
      color: ink.soft,
    }
  }
}

function boxOf([x, y, size]: readonly [number, number, number]) {
  return { left: x - size, top: y - size, width: 2 * size, height: 2 * size }
}

function inside(
  [x, y, size]: readonly [number, number, number],
  pen: { width: number; height: number },
): boolean {
  return x > -size && y > -size && x < pen.width + size && y < pen.height + size
}

function arrow(
  canvas: CanvasRenderingContext2D,
  [x, y, start]: readonly [number, number, number],
  [u, v, end]: readonly [number, number, number],
  head: boolean,
): void {
  const apart = Math.hypot(u - x, v - y)
  if (apart <= start + end) return
  const [right, down] = [(u - x) / apart, (v - y) / apart]
  const [tipX, tipY] = [u - right * (end + 3), v - down * (end + 3)]
  canvas.beginPath()
  canvas.moveTo(x + right * start, y + down * start)
  canvas.lineTo(tipX, tipY)
  canvas.stroke()
  if (!head || apart < start + end + 10) return
  canvas.setLineDash([])
  canvas.beginPath()
  canvas.moveTo(tipX, tipY)
  canvas.lineTo(tipX - 7 * right - 3.2 * down, tipY - 7 * down + 3.2 * right)
  canvas.lineTo(tipX - 7 * right + 3.2 * down, tipY - 7 * down - 3.2 * right)
  canvas.fill()
}
