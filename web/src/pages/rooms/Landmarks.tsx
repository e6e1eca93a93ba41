import { Badge, Button, Group, Stack, Switch, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { baseOf } from './corrections'
import { Items } from './Items'
import { Kept } from './Kept'
import { landmarksQuery, type Place, pin, useRefresh } from './place'
import { useRoomsWords } from './rooms.words'
import { useNames } from './useNames'

/** Decisions that stand in every prompt. */
export function Landmarks({ place }: { place: Place }) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const format = useFormat()
  const { person } = useNames()
  const refresh = useRefresh()
  const [past, setPast] = useState(false)
  const [text, setText] = useState('')
  const [replaced, setReplaced] = useState<string>()
  const found = useQuery(landmarksQuery(place, past))
  const keep = useMutation({
    mutationFn: () => pin(place, text.trim(), replaced ? [replaced] : []),
    onSuccess: async () => {
      setText('')
      setReplaced(undefined)
      await refresh()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    keep.mutate()
  }
  const items = found.data?.items ?? []
  const old = items.find((one) => one.id === replaced)
  return (
    <Stack gap="sm">
      <form onSubmit={submit}>
        <Stack gap={6}>
          <Textarea
            label={words('pinLabel')}
            description={old ? words('replaces', { text: old.text.slice(0, 80) }) : words('pinHint')}
            autosize
            minRows={2}
            maxRows={6}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <Group justify="flex-end" gap={6}>
            {replaced && (
              <Button size="xs" variant="default" onClick={() => setReplaced(undefined)}>
                {frame('cancel')}
              </Button>
            )}
            <Button size="xs" type="submit" loading={keep.isPending} disabled={!text.trim()}>
              {words('pin')}
            </Button>
          </Group>
        </Stack>
      </form>
      <Switch
        size="xs"
        label={words('showPast')}
        checked={past}
        onChange={(event) => setPast(event.currentTarget.checked)}
      />
      <Items found={found} count={items.length} empty={words('noLandmarks')} label={words('landmarks')}>
        {items.map((one) => (
          <Kept
            key={one.id}
            base={baseOf(place)}
            kind="landmarks"
            id={one.id}
            text={one.text}
            past={one.superseded_by !== null}
            source={one.source_message_id}
            onReplace={() => setReplaced(one.id)}
          >
            {one.superseded_at && (
              <Badge size="xs" variant="outline" color="gray" tt="none">
                {words('superseded')}
              </Badge>
            )}
            {one.superseded_by && (
              <Text size="xs" c="dimmed">
                {words('supersededBy', {
                  text: items.find((newer) => newer.id === one.superseded_by)?.text.slice(0, 80) ?? '…',
                })}
              </Text>
            )}
            <Text size="xs" c="dimmed">
              {[
                person(one.user_id),
                format.minute(one.superseded_at ?? one.created_at),
                words(one.source_type === 'user' ? 'pinned' : 'foundInMessage'),
              ]
                .filter(Boolean)
                .join(' · ')}
            </Text>
          </Kept>
        ))}
      </Items>
    </Stack>
  )
}
