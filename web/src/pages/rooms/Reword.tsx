import { Button, Group, Stack, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { useFrameWords } from '@/app/frame.words'
import { type Kind, reword } from './corrections'
import { useRefresh } from './place'
import { useRoomsWords } from './rooms.words'

/** Another wording, written where the old one stands. */
export function Reword({
  base,
  kind,
  id,
  text,
  onDone,
}: {
  base: string
  kind: Kind
  id: string
  text: string
  onDone: () => void
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const [wording, setWording] = useState(text)
  const save = useMutation({
    mutationFn: () => reword(base, kind, id, wording.trim()),
    onSuccess: async () => {
      await refresh()
      onDone()
    },
  })
  const submit = () => {
    if (wording.trim() && !save.isPending) save.mutate()
  }
  const typed = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.preventDefault()
      event.stopPropagation()
      onDone()
    } else if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault()
      submit()
    }
  }
  return (
    <Stack gap={6} my={4}>
      <Textarea
        data-autofocus
        autoFocus
        aria-label={words('wording')}
        autosize
        minRows={1}
        maxRows={12}
        value={wording}
        onChange={(event) => setWording(event.currentTarget.value)}
        onKeyDown={typed}
      />
      <Group gap={6} justify="flex-end">
        <Button size="xs" variant="default" onClick={onDone}>
          {frame('cancel')}
        </Button>
        <Button size="xs" loading={save.isPending} disabled={!wording.trim()} onClick={submit}>
          {frame('save')}
        </Button>
      </Group>
    </Stack>
  )
}
