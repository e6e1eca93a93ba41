import { Button, Group, Modal, MultiSelect, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useRefresh } from './place'
import { useRoomsWords } from './rooms.words'

/** A new room with agents in it; `room`: another name for that one. */
export function RoomForm({
  opened,
  onClose,
  agents,
  onMade,
  room,
}: {
  opened: boolean
  onClose: () => void
  agents: Schema<'AgentOut'>[]
  onMade?: (id: string) => void
  room?: Schema<'RoomOut'>
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const [name, setName] = useState('')
  const [within, setWithin] = useState<string[]>([])
  useEffect(() => {
    if (!opened) return
    setName(room?.name ?? '')
    setWithin([])
  }, [opened, room])
  const save = useMutation({
    mutationFn: () =>
      room
        ? ok(
            api.PATCH('/v1/rooms/{room_id}', {
              params: { path: { room_id: room.id } },
              body: { name: name.trim() },
            }),
          )
        : ok(api.POST('/v1/rooms', { body: { name: name.trim(), participants: [], agents: within } })),
    onSuccess: async (made) => {
      onClose()
      await refresh()
      onMade?.(made.id)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Modal
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={opened}
      onClose={onClose}
      title={words(room ? 'renameRoom' : 'newRoom')}
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            data-autofocus
            label={words('name')}
            value={name}
            maxLength={255}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {!room && (
            <MultiSelect
              label={words('agents')}
              description={words('agentsHint')}
              data={agents.map((one) => ({ value: one.slug, label: one.name }))}
              value={within}
              onChange={setWithin}
              searchable
              disabled={!agents.length}
              placeholder={agents.length ? undefined : words('noAgentsYet')}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {frame('cancel')}
            </Button>
            <Button type="submit" loading={save.isPending} disabled={!name.trim()}>
              {room ? frame('save') : words('create')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
