import { Button, Group, SegmentedControl, Skeleton, Text, UnstyledButton } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, ok } from '@/api/client'
import { useMe } from '@/app/session'
import { CAPSULES, tagsQuery } from '@/parts/capsules/queries'
import { Failed } from '@/parts/Failed'
import { today } from '../days'
import { usePlace, writeTags } from '../place'
import { useRecallWords } from '../recall.words'
import { Band } from './Band'
import { type Bucket, everySpan, topTopics } from './spans'
import classes from './Timeline.module.css'

const TOPICS = 12

/** In its place, and as high, while it is on its way. */
export function TimelineBlank() {
  return (
    <div className={classes.card}>
      <Skeleton height="100%" radius="sm" />
    </div>
  )
}

function toggled(tags: readonly string[], tag: string): string[] {
  return tags.includes(tag) ? tags.filter((one) => one !== tag) : [...tags, tag]
}

/** When one kept how much, and about what; a period chosen here filters the list below. */
export default function Timeline() {
  const words = useRecallWords()
  const place = usePlace()
  const zone = useMe()?.user?.timezone ?? 'UTC'
  const { bucket } = place
  const { from, to } = place.filters
  const found = useQuery({
    queryKey: [...CAPSULES, 'timeline', bucket],
    queryFn: () => ok(api.GET('/v1/memory/capsules/timeline', { params: { query: { bucket } } })),
    placeholderData: keepPreviousData,
  })
  const tags = useQuery(tagsQuery).data?.items ?? []
  const spans = useMemo(
    () => (found.data ? everySpan(found.data.items, found.data.bucket as Bucket, today(zone)) : []),
    [found.data, zone],
  )
  if (found.isPending) return <TimelineBlank />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const chosen = spans.filter((span) => (!from || span.end >= from) && (!to || span.start <= to))
  const topics = topTopics(chosen, TOPICS)
  const isTag = (topic: string) => tags.some((one) => one.tag === topic)
  const choose = (topic: string) =>
    place.set(
      isTag(topic) ? { tag: writeTags(toggled(place.tags, topic)) } : { q: topic === place.q ? null : topic },
    )
  return (
    <section className={classes.card} aria-label={words('timeline')}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" c="dimmed">
          {words('bandHint')}
        </Text>
        <Group gap="xs">
          {(from || to) && (
            <Button variant="subtle" size="compact-xs" onClick={() => place.set({ from: null, to: null })}>
              {words('allTime')}
            </Button>
          )}
          <SegmentedControl
            size="xs"
            aria-label={words('bucket')}
            value={bucket}
            onChange={(value) => place.set({ bucket: value === 'week' ? null : value }, { replace: true })}
            data={(['day', 'week', 'month'] as const).map((value) => ({ value, label: words(value) }))}
          />
        </Group>
      </Group>
      <Band
        spans={spans}
        from={from}
        to={to}
        onChoose={(first, last) => place.set({ from: first.start, to: last.end })}
      />
      <Group gap={6} mt={4} wrap="nowrap" className={classes.topics}>
        <Text size="sm" c="dimmed" mr={4}>
          {words('topics')}
        </Text>
        {topics.map((topic) => {
          const on = place.tags.includes(topic) || topic === place.q
          return (
            <UnstyledButton
              key={topic}
              className={classes.topic}
              data-on={on || undefined}
              aria-pressed={on}
              onClick={() => choose(topic)}
            >
              {topic}
            </UnstyledButton>
          )
        })}
      </Group>
    </section>
  )
}
