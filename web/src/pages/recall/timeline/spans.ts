import type { Schema } from '@/api/client'
import { addDays } from '../days'

export type Bucket = 'day' | 'week' | 'month'
export type Span = { start: string; end: string; count: number; topics: readonly string[] }

const LEAST = 12 // bars: fewer look like a wall

/** Every bucket from the first to today, those without a capsule too; `end` is its last day. */
export function everySpan(items: readonly Schema<'SpanOut'>[], bucket: Bucket, today: string): Span[] {
  const first = items[0]?.start
  if (!first) return []
  const known = new Map(items.map((one) => [one.start, one]))
  const spans: Span[] = []
  for (
    let start = first;
    start <= today || start <= (items.at(-1)?.start ?? '');
    start = next(start, bucket)
  ) {
    spans.push(span(start, bucket, known.get(start)))
  }
  while (spans.length < LEAST) {
    spans.unshift(span(before(spans[0]?.start ?? first, bucket), bucket))
  }
  return spans
}

function span(start: string, bucket: Bucket, found?: Schema<'SpanOut'>): Span {
  return {
    start,
    end: addDays(next(start, bucket), -1),
    count: found?.count ?? 0,
    topics: found?.topics ?? [],
  }
}

function next(start: string, bucket: Bucket): string {
  return bucket === 'month'
    ? `${addDays(start, 31).slice(0, 7)}-01`
    : addDays(start, bucket === 'week' ? 7 : 1)
}

function before(start: string, bucket: Bucket): string {
  return bucket === 'month'
    ? `${addDays(start, -1).slice(0, 7)}-01`
    : addDays(start, bucket === 'week' ? -7 : -1)
}

/** What most of it is about; a bucket counts for as many capsules as it has. */
export function topTopics(spans: readonly Span[], many: number): string[] {
  const weight = new Map<string, number>()
  for (const { topics, count } of spans) {
    for (const topic of topics) weight.set(topic, (weight.get(topic) ?? 0) + count)
  }
  return [...weight]
    .sort(([, one], [, other]) => other - one)
    .slice(0, many)
    .map(([topic]) => topic)
}
