import { Badge, SegmentedControl, Select, Stack, Switch, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schema } from '@/api/client'
import { useFormat, useMe } from '@/app/session'
import { baseOf } from './corrections'
import { Items } from './Items'
import { Kept } from './Kept'
import { ProfileForm } from './ProfileForm'
import { memoriesQuery, type Place, profileQuery } from './place'
import { useRoomsWords } from './rooms.words'
import { useNames } from './useNames'

const TYPES = ['fact', 'decision', 'action_item'] as const

/** What agents remember: of this conversation, and of oneself everywhere. */
export function Memories({ place, room }: { place: Place; room: Schema<'RoomOut'> | undefined }) {
  const words = useRoomsWords()
  const format = useFormat()
  const me = useMe()
  const [of, setOf] = useState('here')
  const [agent, setAgent] = useState('')
  const [past, setPast] = useState(false)
  const { person, agent: agentCalled } = useNames()
  const here = useInfiniteQuery({
    ...memoriesQuery(place, agent || undefined, past),
    enabled: of === 'here',
  })
  const mine = useInfiniteQuery({
    ...profileQuery(me?.user?.id ?? '', past),
    enabled: of === 'you' && !!me?.user,
  })
  const found = of === 'here' ? here : mine
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  const kindOf = (type: string) => {
    const known = TYPES.find((one) => one === type)
    return known ? words(`type_${known}`) : type
  }
  return (
    <Stack gap="sm">
      <SegmentedControl
        size="xs"
        aria-label={words('ofWhat')}
        value={of}
        onChange={setOf}
        data={[
          { value: 'here', label: words('ofHere') },
          { value: 'you', label: words('ofYou') },
        ]}
      />
      {of === 'here' && room && room.agents.length > 1 && (
        <Select
          size="xs"
          aria-label={words('whichAgent')}
          allowDeselect={false}
          value={agent}
          onChange={(value) => setAgent(value ?? '')}
          data={[
            { value: '', label: words('allAgents') },
            ...room.agents.map((one) => ({ value: one, label: agentCalled(one) ?? one })),
          ]}
        />
      )}
      {of === 'you' && me?.user && <ProfileForm user={me.user.id} />}
      <Switch
        size="xs"
        label={words('showPast')}
        checked={past}
        onChange={(event) => setPast(event.currentTarget.checked)}
      />
      <Items
        found={found}
        count={items.length}
        empty={words(of === 'here' ? 'noMemories' : 'noProfile')}
        label={words('memories')}
      >
        {items.map((one) => (
          <Kept
            key={one.id}
            base={of === 'you' && me?.user ? baseOf({ user: me.user.id }) : baseOf(place)}
            kind="memories"
            id={one.id}
            text={one.text}
            past={one.superseded_by !== null}
            source={of === 'here' ? one.source_message_id : null}
          >
            <Badge size="sm" variant="default" tt="none" fw={500}>
              {kindOf(one.type)}
            </Badge>
            <Text size="xs" c="dimmed">
              {[person(one.user_id), agentCalled(one.agent_id), format.minute(one.created_at)]
                .filter(Boolean)
                .join(' · ')}
            </Text>
            {one.superseded_by && (
              <Text size="xs" c="dimmed">
                {words('supersededBy', {
                  text: items.find((newer) => newer.id === one.superseded_by)?.text.slice(0, 80) ?? '…',
                })}
              </Text>
            )}
          </Kept>
        ))}
      </Items>
    </Stack>
  )
}
