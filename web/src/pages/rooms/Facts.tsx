import { Badge, Button, Group, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat, useMe } from '@/app/session'
import { offerUndo } from '@/parts/offerUndo'
import { moment } from '@/parts/relevance/moment'
import { FactForm } from './FactForm'
import { FactHistory } from './FactHistory'
import { deleteFact, type Fact, type FactScope, factsQuery, putFact } from './facts'
import { Item } from './Item'
import { Items } from './Items'
import { useRefresh } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'

/** Exact values of the room, of oneself and of the account, now or at an earlier time. */
export function Facts({ room }: { room: Schema<'RoomOut'> | undefined }) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const format = useFormat()
  const refresh = useRefresh()
  const me = useMe()
  const [whose, setWhose] = useState(room ? 'room' : 'user')
  const [asOf, setAsOf] = useState('')
  const [edited, setEdited] = useState<Fact>()
  const [looked, setLooked] = useState<string>()
  const scope: FactScope =
    whose === 'room' && room
      ? { kind: 'room', id: room.id }
      : whose === 'user'
        ? { kind: 'user', id: me?.user?.id ?? '' }
        : { kind: 'global', id: 'global' }
  const found = useQuery({ ...factsQuery(scope, moment(asOf)), enabled: scope.id !== '' })
  const remove = useMutation({
    mutationFn: (fact: Fact) => deleteFact(scope, fact.key),
    onSuccess: async (_, fact) => {
      await refresh()
      const before = JSON.stringify(fact.value)
      offerUndo(words('factDeleted', { key: fact.key }), words('undo'), () => {
        void putFact(scope, fact.key, before, fact.visibility === 'private').then(refresh)
      })
    },
  })
  const items = found.data ?? []
  return (
    <Stack gap="sm">
      <SegmentedControl
        size="xs"
        aria-label={words('whose')}
        value={whose}
        onChange={(value) => {
          setWhose(value)
          setEdited(undefined)
        }}
        data={[
          ...(room ? [{ value: 'room', label: words('ofRoom') }] : []),
          { value: 'user', label: words('ofYou') },
          { value: 'global', label: words('ofAll') },
        ]}
      />
      <FactForm
        key={`${whose}-${edited?.id}`}
        scope={scope}
        fact={edited}
        onDone={() => setEdited(undefined)}
      />
      <TextInput
        size="xs"
        type="datetime-local"
        label={words('asOf')}
        value={asOf}
        onChange={(event) => setAsOf(event.currentTarget.value)}
      />
      <Items found={found} count={items.length} empty={words('noFacts')} label={words('facts')}>
        {items.map((one) => (
          <Item key={one.id} id={one.id}>
            <Group justify="space-between" gap={6}>
              <Text size="sm" fw={600} className={classes.text}>
                {one.key}
              </Text>
              {one.visibility === 'private' && (
                <Badge size="xs" variant="default" tt="none">
                  {words('private')}
                </Badge>
              )}
            </Group>
            <div className={classes.code}>{JSON.stringify(one.value)}</div>
            <Group justify="space-between" gap={4} mt={4}>
              <Text size="xs" c="dimmed">
                {format.minute(one.valid_from)}
              </Text>
              <Group gap={2}>
                <Button size="compact-xs" variant="subtle" onClick={() => setEdited(one)}>
                  {words('change')}
                </Button>
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-expanded={looked === one.key}
                  onClick={() => setLooked(looked === one.key ? undefined : one.key)}
                >
                  {words('history')}
                </Button>
                <Button size="compact-xs" variant="subtle" color="red" onClick={() => remove.mutate(one)}>
                  {frame('delete')}
                </Button>
              </Group>
            </Group>
            {looked === one.key && <FactHistory scope={scope} name={one.key} />}
          </Item>
        ))}
      </Items>
    </Stack>
  )
}
