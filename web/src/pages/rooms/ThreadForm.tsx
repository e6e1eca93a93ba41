import { Button, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useRefresh } from './place'
import { useRoomsWords } from './rooms.words'

export function ThreadForm({
  room,
  opened,
  onClose,
  onOpened,
}: {
  room: string
  opened: boolean
  onClose: () => void
  onOpened: (id: string) => void
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const [title, setTitle] = useState('')
  const open = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/v1/rooms/{room_id}/threads', {
          params: { path: { room_id: room } },
          body: { title: title.trim() },
        }),
      ),
    onSuccess: async (made) => {
      setTitle('')
      onClose()
      await refresh()
      onOpened(made.id)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    open.mutate()
  }
  return (
    <Modal
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={opened}
      onClose={onClose}
      title={words('openThread')}
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {words('threadHint')}
          </Text>
          <TextInput
            data-autofocus
            label={words('threadTitle')}
            value={title}
            maxLength={255}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          <Button type="submit" loading={open.isPending} style={{ alignSelf: 'flex-end' }}>
            {words('open')}
          </Button>
        </Stack>
      </form>
    </Modal>
  )
}
