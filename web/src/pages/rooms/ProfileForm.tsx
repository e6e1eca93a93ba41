import { Button, Group, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok } from '@/api/client'
import { useRefresh } from './place'
import { useRoomsWords } from './rooms.words'

/** Something that all agents are to know of oneself. */
export function ProfileForm({ user }: { user: string }) {
  const words = useRoomsWords()
  const refresh = useRefresh()
  const [text, setText] = useState('')
  const keep = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/v1/profiles/{user_id}/memories', {
          params: { path: { user_id: user } },
          body: { text: text.trim(), type: 'fact', supersede: 'auto' },
        }),
      ),
    onSuccess: () => {
      setText('')
      return refresh()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    keep.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Group gap={6} align="flex-end" wrap="nowrap">
        <TextInput
          flex={1}
          size="xs"
          label={words('tellAgents')}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button size="xs" type="submit" loading={keep.isPending} disabled={!text.trim()}>
          {words('add')}
        </Button>
      </Group>
    </form>
  )
}
