import { ActionIcon, Box, Button, Menu, Text, Title, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  IconArrowLeft,
  IconDots,
  IconEdit,
  IconLayoutSidebarRight,
  IconTrash,
  IconUsers,
} from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { useAddress } from '@/parts/address'
import { offerUndo } from '@/parts/offerUndo'
import { AgentForm } from './AgentForm'
import { People } from './People'
import { type Place, useRefresh, useRefreshPlaces } from './place'
import { RoomForm } from './RoomForm'
import classes from './Rooms.module.css'
import { RoomTrash } from './RoomTrash'
import { useRoomsWords } from './rooms.words'
import { Threads } from './Threads'
import { useNames } from './useNames'

/** Where one is, who is in it, and what can be done with it as a whole. */
export function Head({
  place,
  room,
  agent,
  agents,
  thread,
  onBack,
  onPanel,
}: {
  place: Place
  room: Schema<'RoomOut'> | undefined
  agent: Schema<'AgentOut'> | undefined
  agents: Schema<'AgentOut'>[]
  thread: string | null
  onBack?: () => void
  onPanel: () => void
}) {
  const words = useRoomsWords()
  const refresh = useRefresh()
  const refreshPlaces = useRefreshPlaces()
  const [, change] = useAddress()
  const [peopled, people] = useDisclosure()
  const [naming, name] = useDisclosure()
  const [shaping, shape] = useDisclosure()
  const [binned, trash] = useDisclosure()
  const { person } = useNames()
  const leave = () => change({ room: null, dm: null, thread: null, panel: null })
  const restore = useMutation({
    mutationFn: (id: string) =>
      ok(api.POST('/v1/rooms/{room_id}/restore', { params: { path: { room_id: id } } })),
    onSuccess: async (back) => {
      await refresh()
      change({ room: back.id })
    },
  })
  const remove = useMutation({
    // One leaves before it is gone: what is open there would go on asking for it.
    onMutate: leave,
    mutationFn: (gone: Schema<'RoomOut'>) =>
      ok(api.DELETE('/v1/rooms/{room_id}', { params: { path: { room_id: gone.id } } })),
    onSuccess: async (_, gone) => {
      await refreshPlaces()
      offerUndo(words('roomDeleted', { name: gone.name }), words('undo'), () => restore.mutate(gone.id))
    },
  })
  const count = room
    ? room.participants.filter((one) => one.status === 'joined').length + room.agents.length
    : 0
  return (
    <header className={classes.head}>
      {onBack && (
        <ActionIcon variant="subtle" color="gray" aria-label={words('back')} onClick={onBack}>
          <IconArrowLeft size={18} aria-hidden />
        </ActionIcon>
      )}
      <Box className={classes.headName}>
        <Title order={2} size="h5" lineClamp={1}>
          {room?.name ?? agent?.name}
        </Title>
        {agent && (
          <Text size="xs" c="dimmed" lineClamp={1}>
            {words('directHint')}
          </Text>
        )}
      </Box>
      {room && <Threads room={room.id} chosen={thread} />}
      {room && (
        <Tooltip label={words('whoIsIn', { room: room.name })}>
          <Button
            variant="default"
            size="xs"
            px={8}
            leftSection={<IconUsers size={15} aria-hidden />}
            onClick={people.open}
            aria-label={`${words('whoIsIn', { room: room.name })}: ${count}`}
          >
            {count}
          </Button>
        </Tooltip>
      )}
      {agent && (
        <Button
          variant="default"
          size="xs"
          leftSection={<IconEdit size={14} aria-hidden />}
          onClick={shape.open}
        >
          {words('editAgent')}
        </Button>
      )}
      <Tooltip label={words('remembered')}>
        <ActionIcon variant="default" size={30} aria-label={words('remembered')} onClick={onPanel}>
          <IconLayoutSidebarRight size={17} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <ActionIcon variant="default" size={30} aria-label={words('openTrash')} onClick={trash.open}>
        <IconTrash size={16} aria-hidden />
      </ActionIcon>
      {room && (
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="default" size={30} aria-label={words('roomMenu')}>
              <IconDots size={17} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconEdit size={16} />} onClick={name.open}>
              {words('renameRoom')}
            </Menu.Item>
            <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => remove.mutate(room)}>
              {words('deleteRoom')}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      <RoomTrash place={place} opened={binned} onClose={trash.close} nameOfUser={person} />
      {room && <People room={room} agents={agents} opened={peopled} onClose={people.close} />}
      {room && <RoomForm room={room} agents={agents} opened={naming} onClose={name.close} />}
      {agent && (
        <AgentForm
          agent={agent}
          opened={shaping}
          onClose={shape.close}
          onDelete={leave}
          onMade={(slug) => change({ dm: slug })}
        />
      )}
    </header>
  )
}
