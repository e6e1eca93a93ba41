import type { Schema } from '@/api/client'

type Row = Schema<'RowOut'>

export const PERIODS = ['month', '30', '90'] as const
export const MEASURES = ['calls', 'queries', 'credits', 'tokens'] as const
export const ACTIONS = ['recall', 'ask', 'memory_recall', 'llm'] as const
export type Measure = (typeof MEASURES)[number]

const DAY = 86_400_000
const iso = (at: number) => new Date(at).toISOString().slice(0, 10)

/** The first and the last day (UTC, as the meter counts) of a time that ends today. */
export function range(period: (typeof PERIODS)[number]): [string, string] {
  const today = iso(Date.now())
  if (period === 'month') return [`${today.slice(0, 8)}01`, today]
  return [iso(Date.now() - (Number(period) - 1) * DAY), today]
}

const measured = (row: Row, measure: Measure) =>
  measure === 'tokens' ? row.tokens_in + row.tokens_out : row[measure]

/** Every day of the time, also those on which nothing was called, with a number for each action. */
export function byDay(
  rows: Row[],
  from: string,
  to: string,
  measure: Measure,
): { days: string[]; series: { action: string; values: number[] }[] } {
  const days: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) days.push(iso(at))
  const actions = byAction(rows).map((sum) => sum.action)
  const series = actions.map((action) => {
    const values = new Array<number>(days.length).fill(0)
    for (const row of rows) {
      const at = days.indexOf(row.day ?? '')
      if (row.action === action && at >= 0) values[at] = (values[at] ?? 0) + measured(row, measure)
    }
    return { action, values }
  })
  return { days, series }
}

export function byAction(rows: Row[]) {
  const sums = new Map<
    string,
    {
      action: string
      calls: number
      queries: number
      credits: number
      tokens_in: number
      tokens_out: number
      tokens: number
    }
  >()
  for (const row of rows) {
    const action = row.action ?? ''
    const sum = sums.get(action) ?? {
      action,
      calls: 0,
      queries: 0,
      credits: 0,
      tokens_in: 0,
      tokens_out: 0,
      tokens: 0,
    }
    for (const name of ['calls', 'queries', 'credits', 'tokens_in', 'tokens_out'] as const)
      sum[name] += row[name]
    sum.tokens = sum.tokens_in + sum.tokens_out
    sums.set(action, sum)
  }
  return [...sums.values()].sort((a, b) => b.calls - a.calls)
}
