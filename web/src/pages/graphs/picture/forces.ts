/** Where nodes lie: linked ones near to each other, all others apart. Repulsion is Barnes and Hut's, so that thousands
 * take seconds at most; the same input gives the same picture. */

export type Place = { x: number; y: number }

const ROUNDS = 240
const LENGTH = 46 // of an edge
const PUSH = -90
const GRAVITY = 0.045
const DECAY = 0.6
const FAR = 0.81 // squared: a part this small for its distance counts as one

type Body = { x: number; y: number; vx: number; vy: number }
type Part = { x: number; y: number; mass: number; side: number; parts: Part[] | null; bodies: Body[] }

/** Settles `count` nodes in rounds, the places so far after each; those that have one already start there, and calmly. */
export function* settling(
  known: readonly (Place | undefined)[],
  links: readonly (readonly [number, number])[],
): Generator<Place[]> {
  const fresh = known.filter((place) => !place).length
  const bodies = known.map((place, index): Body => {
    const turn = index * 2.399963 // the golden angle
    const far = 14 * Math.sqrt(index + 0.5)
    return { x: place?.x ?? far * Math.cos(turn), y: place?.y ?? far * Math.sin(turn), vx: 0, vy: 0 }
  })
  const degree = new Array<number>(bodies.length).fill(0)
  for (const [from, to] of links) {
    degree[from] = (degree[from] ?? 0) + 1
    degree[to] = (degree[to] ?? 0) + 1
  }
  if (fresh < bodies.length) besideNeighbours(bodies, known, links)
  let heat = fresh === bodies.length ? 1 : 0.15 + (0.6 * fresh) / Math.max(bodies.length, 1)
  const cooling = 1 - 0.002 ** (1 / ROUNDS)
  for (let round = 0; round < ROUNDS && fresh > 0; round++) {
    for (const [from, to] of links) {
      const one = bodies[from] as Body
      const other = bodies[to] as Body
      const x = other.x + other.vx - one.x - one.vx || 0.01
      const y = other.y + other.vy - one.y - one.vy || 0.01
      const apart = Math.hypot(x, y)
      const [many, few] = [degree[from] as number, degree[to] as number]
      const pull = (((apart - LENGTH) / apart) * heat) / Math.min(many, few)
      const share = many / (many + few)
      other.vx -= x * pull * share
      other.vy -= y * pull * share
      one.vx += x * pull * (1 - share)
      one.vy += y * pull * (1 - share)
    }
    const tree = partOf(bodies)
    for (const body of bodies) {
      push(body, tree, heat)
      body.vx -= body.x * GRAVITY * heat
      body.vy -= body.y * GRAVITY * heat
    }
    for (const body of bodies) {
      body.vx *= DECAY
      body.vy *= DECAY
      body.x += body.vx
      body.y += body.vy
    }
    heat -= heat * cooling
    yield bodies
  }
  yield bodies
}

function besideNeighbours(
  bodies: Body[],
  known: readonly (Place | undefined)[],
  links: readonly (readonly [number, number])[],
): void {
  for (const [from, to] of links) {
    for (const [here, there] of [
      [from, to],
      [to, from],
    ] as const) {
      const place = known[there]
      const body = bodies[here]
      if (!known[here] && place && body) {
        body.x = place.x + 20 * Math.cos(here)
        body.y = place.y + 20 * Math.sin(here)
      }
    }
  }
}

function partOf(bodies: Body[]): Part {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const { x, y } of bodies) {
    left = Math.min(left, x)
    right = Math.max(right, x)
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  return divided(bodies, left, top, Math.max(right - left, bottom - top, 1), 0)
}

function divided(bodies: Body[], left: number, top: number, side: number, depth: number): Part {
  const part: Part = { x: 0, y: 0, mass: bodies.length, side, parts: null, bodies }
  for (const { x, y } of bodies) {
    part.x += x / bodies.length
    part.y += y / bodies.length
  }
  if (bodies.length <= 4 || depth > 24) return part
  const half = side / 2
  const quarters: [Body[], Body[], Body[], Body[]] = [[], [], [], []]
  for (const body of bodies)
    (quarters[(body.x > left + half ? 1 : 0) + (body.y > top + half ? 2 : 0)] as Body[]).push(body)
  part.parts = []
  for (const [index, quarter] of quarters.entries())
    if (quarter.length)
      part.parts.push(
        divided(quarter, left + (index % 2) * half, top + (index > 1 ? half : 0), half, depth + 1),
      )
  return part
}

function push(body: Body, part: Part, heat: number): void {
  const x = part.x - body.x
  const y = part.y - body.y
  const far = x * x + y * y
  if (part.parts && part.side * part.side >= FAR * far) {
    for (const each of part.parts) push(body, each, heat)
  } else if (part.parts) {
    const force = (PUSH * heat * part.mass) / Math.max(far, 1)
    body.vx += x * force
    body.vy += y * force
  } else {
    for (const other of part.bodies) {
      if (other === body) continue
      const dx = other.x - body.x || 0.01
      const dy = other.y - body.y || -0.01
      const force = (PUSH * heat) / Math.max(dx * dx + dy * dy, 30)
      body.vx += dx * force
      body.vy += dy * force
    }
  }
}
