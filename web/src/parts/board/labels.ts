export type Name = {
  id: string
  text: string
  /** Where the named thing is, in pixels, and how far from its middle the name stands. */
  x: number
  y: number
  gap: number
  color: string
  font: string
  size: number
}
type Box = { left: number; top: number; width: number; height: number }
export type PlacedName = Name & Box

const CELL = 64
const PADDING = 3

/**
 * Puts names beside what they name, in their order: one that would lie upon another is tried below, above, right and
 * left, and else left out; likewise one that would lie upon what is `around`.
 */
export function placed(
  pen: CanvasRenderingContext2D,
  names: Iterable<Name>,
  size: { width: number; height: number },
  { most = 400, around = [] }: { most?: number; around?: Iterable<Box> } = {},
): PlacedName[] {
  const taken = new Map<number, Box[]>()
  const take = (box: Box) => {
    for (const cell of cellsOf(box)) taken.set(cell, [...(taken.get(cell) ?? []), box])
  }
  for (const box of around) take(box)
  const found: PlacedName[] = []
  for (const name of names) {
    if (found.length >= most) break
    if (name.x < 0 || name.y < 0 || name.x > size.width || name.y > size.height) continue
    pen.font = name.font
    const width = Math.ceil(pen.measureText(name.text).width) + 2 * PADDING
    const height = Math.ceil(name.size * 1.3)
    for (const [left, top] of [
      [name.x - width / 2, name.y + name.gap],
      [name.x - width / 2, name.y - name.gap - height],
      [name.x + name.gap, name.y - height / 2],
      [name.x - name.gap - width, name.y - height / 2],
    ] as const) {
      const box = { ...name, left: Math.round(left), top: Math.round(top), width, height }
      if (left < 0 || top < 0 || left + width > size.width || top + height > size.height) continue
      const cells = cellsOf(box)
      if (cells.some((cell) => taken.get(cell)?.some((other) => overlap(box, other)))) continue
      take(box)
      found.push(box)
      break
    }
  }
  return found
}

export function write(pen: CanvasRenderingContext2D, names: readonly PlacedName[], paper: string): void {
  pen.textAlign = 'center'
  pen.textBaseline = 'middle'
  pen.lineJoin = 'round'
  pen.lineWidth = 4
  pen.strokeStyle = paper
  for (const name of names) {
    pen.font = name.font
    const [x, y] = [name.left + name.width / 2, name.top + name.height / 2]
    pen.strokeText(name.text, x, y)
    pen.fillStyle = name.color
    pen.fillText(name.text, x, y)
  }
}

/** As much of a text as is read at a glance; a Chinese letter counts for two. */
export function shortened(text: string, letters: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  let room = letters
  let end = 0
  for (const letter of line) {
    room -= letter.charCodeAt(0) > 0x2e7f ? 2 : 1
    if (room < 0) return `${line.slice(0, end).trimEnd()}…`
    end += letter.length
  }
  return line
}

function cellsOf(box: Box): number[] {
  const cells: number[] = []
  for (let row = Math.floor(box.top / CELL); row <= Math.floor((box.top + box.height) / CELL); row++)
    for (
      let column = Math.floor(box.left / CELL);
      column <= Math.floor((box.left + box.width) / CELL);
      column++
    )
      cells.push(row * 4096 + column)
  return cells
}

function overlap(one: Box, other: Box): boolean {
  return (
    one.left < other.left + other.width &&
    other.left < one.left + one.width &&
    one.top < other.top + other.height &&
    other.top < one.top + one.height
  )
}
