import { ActionIcon, Menu, Text } from '@mantine/core'
import { IconDots, IconPencil, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'react-router'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { useChatWords } from '@/parts/chat/chat.words'
import { chatQuery, chatsKey } from '@/parts/chat/workspace'
import { offerUndo } from '@/parts/offerUndo'
import classes from './Chats.module.css'
import { NameModal } from './NameModal'
import { usePlaygroundWords } from './playground.words'

const ICON = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

export function ChatRow({
  chat,
  here,
  onOpen,
  onDeleted,
}: {
  chat: Schema<'ChatOut'>
  here: boolean
  onOpen: () => void
  onDeleted: () => void
}) {
  const words = usePlaygroundWords()
  const said = useChatWords()
  const client = useQueryClient()
  const { search } = useLocation()
  const format = useFormat()
  const [renaming, setRenaming] = useState(false)
  const title = chat.title || words('unnamed')
  const params = { path: { chat_id: chat.id } }
  const refresh = () => client.invalidateQueries({ queryKey: chatsKey(chat.workspace_id) })
  const rename = useMutation({
    mutationFn: (name: string) =>
      ok(api.PATCH('/chat/api/chats/{chat_id}', { params, body: { title: name } })),
    onSuccess: (changed) => {
      client.setQueryData(chatQuery(chat.id).queryKey, changed)
      return refresh()
    },
  })
  const restore = useMutation({
    mutationFn: () => ok(api.POST('/chat/api/chats/{chat_id}/restore', { params })),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () => ok(api.DELETE('/chat/api/chats/{chat_id}', { params })),
    onSuccess: () => {
      onDeleted()
      offerUndo(words('chatDeleted', { title }), said('undo'), () => restore.mutate())
      return refresh()
    },
  })
  return (
    <div className={here ? `${classes.row} ${classes.here}` : classes.row}>
      <Link
        to={{ pathname: `/dashboard/playground/${chat.id}`, search }}
        className={classes.open}
        data-row
        aria-current={here ? 'page' : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey) return
          event.preventDefault()
          onOpen()
        }}
      >
        <Text size="sm" truncate title={title}>
          {title}
        </Text>
        <Text size="xs" c="dimmed" component="time" dateTime={chat.updated_at}>
          {format.minute(chat.updated_at)}
        </Text>
      </Link>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            className={classes.more}
            aria-label={words('chatMenu', { title })}
          >
            <IconDots {...ICON} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil {...ICON} />} onClick={() => setRenaming(true)}>
            {words('rename')}
          </Menu.Item>
          <Menu.Item leftSection={<IconTrash {...ICON} />} color="red" onClick={() => remove.mutate()}>
            {words('delete')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {renaming && (
        <NameModal
          title={words('renameChat')}
          initial={chat.title}
          onClose={() => setRenaming(false)}
          onNamed={(name) => rename.mutate(name)}
        />
      )}
    </div>
  )
}
