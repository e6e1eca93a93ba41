import type { Drawn } from '../calls'

/** What of a picture holds at a time; with `past` also what held before. */
export function shownAt(drawn: Drawn, at: number | null, past: boolean): Drawn {
  const moment = at ?? Date.now()
  const there = (one: { valid_from: string; valid_to: string | null }) =>
    (at === null || Date.parse(one.valid_from) <= moment) &&
    (past || one.valid_to === null || Date.parse(one.valid_to) > moment)
  const nodes = drawn.nodes.filter(there)
  const known = new Set(nodes.map((node) => node.id))
  const edges = drawn.edges.filter(
    (edge) =>
      known.has(edge.from_id) &&
      known.has(edge.to_id) &&
      Date.parse(edge.valid_from) <= moment &&
      (edge.valid_to === null || Date.parse(edge.valid_to) > moment),
  )
  return { nodes, edges, more: drawn.more }
}

export function heldUntil(node: Drawn['nodes'][number], at: number | null): boolean {
  return node.valid_to !== null && Date.parse(node.valid_to) <= (at ?? Date.now())
}
