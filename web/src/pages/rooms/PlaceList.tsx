import { ActionIcon, NavLink, Stack, Text, Title, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconHash, IconPlus, IconRobot } from '@tabler/icons-react'
import type { Schema } from '@/api/client'
import { useNew } from '@/app/keys/keys'
import { AgentForm } from './AgentForm'
import { Invitations } from './Invitations'
import type { Place } from './place'
import { RoomForm } from './RoomForm'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'

/** Where one can talk: rooms, those one is invited to first, and with each agent alone. */
export function PlaceList({
  invitations,
  rooms,
  agents,
  place,
  onChoose,
}: {
  invitations: Schema<'InvitationOut'>[]
  rooms: Schema<'RoomOut'>[]
  agents: Schema<'AgentOut'>[]
  place: Place | undefined
  onChoose: (place: Place) => void
}) {
  const words = useRoomsWords()
  const [making, room] = useDisclosure()
  const [shaping, agent] = useDisclosure()
  useNew(room.open)
  return (
    <nav className={classes.list} aria-label={words('places')}>
      {invitations.length > 0 && (
        <Invitations invitations={invitations} onAccepted={(id) => onChoose({ kind: 'room', id })} />
      )}
      <div className={classes.heading}>
        <Title order={2} size="h6">
          {words('rooms')}
        </Title>
        <Tooltip label={words('newRoom')}>
          <ActionIcon variant="subtle" color="gray" aria-label={words('newRoom')} onClick={room.open}>
            <IconPlus size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </div>
      <Stack gap={2}>
        {rooms.length === 0 && (
          <Text size="sm" c="dimmed" px="xs" pb="xs">
            {words('noRooms')}
          </Text>
        )}
        {rooms.map((one) => (
          <NavLink
            key={one.id}
            component="button"
            className={classes.place}
            data-row
            label={one.name}
            noWrap
            leftSection={<IconHash size={16} stroke={1.6} aria-hidden />}
            active={place?.kind === 'room' && place.id === one.id}
            aria-current={place?.kind === 'room' && place.id === one.id ? 'true' : undefined}
            onClick={() => onChoose({ kind: 'room', id: one.id })}
          />
        ))}
      </Stack>
      <div className={classes.heading} style={{ marginTop: 16 }}>
        <Title order={2} size="h6">
          {words('direct')}
        </Title>
        <Tooltip label={words('newAgent')}>
          <ActionIcon variant="subtle" color="gray" aria-label={words('newAgent')} onClick={agent.open}>
            <IconPlus size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </div>
      <Stack gap={2}>
        {agents.length === 0 && (
          <Text size="sm" c="dimmed" px="xs">
            {words('noAgents')}
          </Text>
        )}
        {agents.map((one) => (
          <NavLink
            key={one.slug}
            component="button"
            className={classes.place}
            data-row
            label={one.name}
            noWrap
            leftSection={<IconRobot size={16} stroke={1.6} aria-hidden />}
            active={place?.kind === 'dm' && place.slug === one.slug}
            aria-current={place?.kind === 'dm' && place.slug === one.slug ? 'true' : undefined}
            onClick={() => onChoose({ kind: 'dm', slug: one.slug })}
          />
        ))}
      </Stack>
      <RoomForm
        opened={making}
        onClose={room.close}
        agents={agents}
        onMade={(id) => onChoose({ kind: 'room', id })}
      />
      <AgentForm opened={shaping} onClose={agent.close} onMade={(slug) => onChoose({ kind: 'dm', slug })} />
    </nav>
  )
}
