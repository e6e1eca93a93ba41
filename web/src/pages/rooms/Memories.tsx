import { Badge, Button, Group, SegmentedControl, Select, Stack, Switch, Text } from '@mantine/core'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schema } from '@/api/client'
import { useFormat, useMe } from '@/app/session'
import { Item } from './Item'
import { Items } from './Items'
import { ProfileForm } from './ProfileForm'
import { memoriesQuery, type Place, profileQuery, reviveMemory, useRefresh } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'

/** What agents remember: of this conversation, and of oneself everywhere. */
export function Memories({ place, room }: { place: Place; room: Schema<'RoomOut'> | undefined }) {
  const words = useRoomsWords()
  const format = useFormat()
  const me = useMe()
  const [of, setOf] = useState('here')
  const [agent, setAgent] = useState('')
  const [past, setPast] = useState(false)
  const refresh = useRefresh()
  const here = useInfiniteQuery({
    ...memoriesQuery(place, agent || undefined, past),
    enabled: of === 'here',
  })
  const mine = useInfiniteQuery({
    ...profileQuery(me?.user?.id ?? '', past),
    enabled: of === 'you' && !!me?.user,
  })
  const revive = useMutation({
    mutationFn: (id: string) => reviveMemory(place, of === 'you' ? me?.user?.id : undefined, id),
    onSuccess: refresh,
  })
  const found = of === 'here' ? here : mine
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  const who = (id: string) => {
    if (id === me?.user?.id) return words('you')
    const person = room?.participants.find((one) => one.user_id === id)
    return person ? person.name || person.email : undefined
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
            ...room.agents.map((one) => ({ value: one, label: one })),
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
          <Item key={one.id} id={one.id} past={one.superseded_by !== null}>
            <Text size="sm" className={classes.text}>
              {one.text}
            </Text>
            <Group gap={6} mt={4}>
              <Badge size="sm" variant="default" tt="none" fw={500}>
                {one.type}
              </Badge>
              <Text size="xs" c="dimmed">
                {[
                  who(one.user_id),
                  one.agent_id === '*' ? undefined : one.agent_id,
                  format.minute(one.created_at),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </Text>
              {one.superseded_by && (
                <>
                  <Text size="xs" c="dimmed">
                    {words('supersededBy', {
                      text: items.find((newer) => newer.id === one.superseded_by)?.text.slice(0, 80) ?? '…',
                    })}
                  </Text>
                  <Button size="compact-xs" variant="light" onClick={() => revive.mutate(one.id)}>
                    {words('undo')}
                  </Button>
                </>
              )}
            </Group>
          </Item>
        ))}
      </Items>
    </Stack>
  )
}
