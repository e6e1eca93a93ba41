import { Group, Text } from '@mantine/core'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { Action } from '@/parts/chat/Action'
import { type Message, messagesQuery } from '@/parts/chat/workspace'
import { usePlaygroundWords } from './playground.words'

/** ‹ 2/3 ›: what stands in the same place on other branches of the chat. */
export function Branches({ message, chat }: { message: Message; chat: string }) {
  const words = usePlaygroundWords()
  const client = useQueryClient()
  const all = message.siblings ?? []
  const place = all.indexOf(message.id)
  const choose = useMutation({
    mutationFn: (branch: string) =>
      ok(api.PATCH('/chat/api/chats/{chat_id}', { params: { path: { chat_id: chat } }, body: { branch } })),
    onSuccess: () => client.invalidateQueries({ queryKey: messagesQuery(chat).queryKey }),
  })
  if (all.length < 2) return null
  const to = (next: number) => {
    const other = all[(next + all.length) % all.length]
    if (other) choose.mutate(other)
  }
  return (
    <Group gap={0} wrap="nowrap" role="group" aria-label={words('branches')}>
      <Action icon={IconChevronLeft} label={words('branchBefore')} onClick={() => to(place - 1)} />
      <Text size="xs" c="dimmed" component="span" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {place + 1}/{all.length}
      </Text>
      <Action icon={IconChevronRight} label={words('branchAfter')} onClick={() => to(place + 1)} />
    </Group>
  )
}
