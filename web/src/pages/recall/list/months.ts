import type { Schema } from '@/api/client'

export type Hit = Schema<'HitOut'>
/** A month of the list: where its first capsule stands in the whole of it, and in which line its heading. */
export type MonthOf = { key: string; count: number; position: number; line: number; open: boolean }
export type Line =
  | { is: 'month'; month: MonthOf }
  | { is: 'capsule'; position: number; first: boolean; last: boolean }

/** Every month with its place in the list, the latest first; nothing is known of the capsules in it yet. */
export function layOut(counts: readonly Schema<'CountOut'>[], closed: ReadonlySet<string>) {
  const months: MonthOf[] = []
  let [position, line] = [0, 0]
  for (const { value: key, count } of counts) {
    const open = !closed.has(key)
    months.push({ key, count, position, line, open })
    position += count
    line += open ? count + 1 : 1
  }
  return { months, count: position, lines: line }
}

/** The last of them for which it holds that it begins at or before that. */
function upTo(
  months: readonly MonthOf[],
  begins: (month: MonthOf) => number,
  at: number,
): MonthOf | undefined {
  let [low, high] = [0, months.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (begins(months[middle] as MonthOf) <= at) low = middle
    else high = middle - 1
  }
  return months[low]
}

export function monthOfLine(months: readonly MonthOf[], line: number): MonthOf | undefined {
  return upTo(months, (month) => month.line, line)
}

export function monthOfPosition(months: readonly MonthOf[], position: number): MonthOf | undefined {
  return upTo(months, (month) => month.position, position)
}

export function lineAt(months: readonly MonthOf[], line: number): Line | undefined {
  const month = monthOfLine(months, line)
  if (!month) return undefined
  const place = line - month.line - 1
  if (place < 0) return { is: 'month', month }
  return {
    is: 'capsule',
    position: month.position + place,
    first: place === 0,
    last: place === month.count - 1,
  }
}

export function lineOf(months: readonly MonthOf[], position: number): number {
  const month = monthOfPosition(months, position)
  if (!month) return 0
  return month.open ? month.line + 1 + position - month.position : month.line
}
