import { Button, Menu, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconCheck, IconMessageCircle, IconPlus } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { useAddress } from '@/parts/address'
import { threadsQuery, useRefresh } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import { ThreadForm } from './ThreadForm'

/** Threads of a room: read one alone, open one, close it. */
export function Threads({ room, chosen }: { room: string; chosen: string | null }) {
  const words = useRoomsWords()
  const refresh = useRefresh()
  const [, change] = useAddress()
  const [opening, form] = useDisclosure()
  const found = useQuery(threadsQuery(room))
  const current = found.data?.items.find((one) => one.id === chosen)
  const label = current ? current.title || words('untitled') : words('threads')
  const close = useMutation({
    mutationFn: (id: string) =>
      ok(
        api.POST('/v1/rooms/{room_id}/threads/{thread_id}/close', {
          params: { path: { room_id: room, thread_id: id } },
        }),
      ),
    onSuccess: refresh,
  })
  return (
    <>
      <Menu position="bottom-end" width={260}>
        <Menu.Target>
          <Button
            variant={chosen ? 'light' : 'default'}
            size="xs"
            maw={150}
            px={8}
            className={classes.icon}
            aria-label={label}
            leftSection={<IconMessageCircle size={15} aria-hidden />}
          >
            <span className={classes.wideOnly}>{label}</span>
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={360} style={{ overflowY: 'auto' }}>
          <Menu.Item leftSection={<IconPlus size={16} />} onClick={form.open}>
            {words('openThread')}
          </Menu.Item>
          {current && !current.closed_at && (
            <Menu.Item leftSection={<IconCheck size={16} />} onClick={() => close.mutate(current.id)}>
              {words('closeThread')}
            </Menu.Item>
          )}
          <Menu.Divider />
          <Menu.Item onClick={() => change({ thread: null })}>{words('wholeRoom')}</Menu.Item>
          {found.data?.items.map((one) => (
            <Menu.Item key={one.id} onClick={() => change({ thread: one.id })}>
              <Text size="sm" fw={one.id === chosen ? 600 : 400} lineClamp={1}>
                {one.title || words('untitled')}
              </Text>
              <Text size="xs" c="dimmed">
                {words('messages', { count: one.message_count })}
                {one.closed_at && ` · ${words('closed')}`}
              </Text>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <ThreadForm
        room={room}
        opened={opening}
        onClose={form.close}
        onOpened={(id) => change({ thread: id })}
      />
    </>
  )
}
