import { Badge, Group, Select, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useFormat } from '@/app/session'
import { Item } from './Item'
import { Items } from './Items'
import { type Place, summariesQuery, type Tier } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'

const TIERS: Tier[] = ['session', 'day', 'week', 'thread']

/** What stands for what was said before: of sessions, days, weeks and threads. */
export function Summaries({ place }: { place: Place }) {
  const words = useRoomsWords()
  const format = useFormat()
  const [tier, setTier] = useState<Tier>()
  const found = useInfiniteQuery(summariesQuery(place, tier))
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <Stack gap="sm">
      <Select
        size="xs"
        aria-label={words('tier')}
        allowDeselect={false}
        value={tier ?? ''}
        onChange={(value) => setTier(TIERS.find((one) => one === value))}
        data={[
          { value: '', label: words('allTiers') },
          ...TIERS.map((one) => ({ value: one, label: words(`${one}Tier`) })),
        ]}
      />
      <Items found={found} count={items.length} empty={words('noSummaries')} label={words('summaries')}>
        {items.map((one) => (
          <Item key={one.id} id={one.id}>
            <Group gap={6} mb={4}>
              <Badge size="sm" variant="default" tt="none" fw={500}>
                {words(`${one.tier as Tier}Tier`)}
              </Badge>
              <Text size="xs" c="dimmed">
                {format.minute(one.starts_at)} · {words('messages', { count: one.message_count })}
              </Text>
            </Group>
            <Text size="sm" className={classes.text} style={{ whiteSpace: 'pre-wrap' }}>
              {one.content}
            </Text>
          </Item>
        ))}
      </Items>
    </Stack>
  )
}
