import {
  ActionIcon,
  Badge,
  Button,
  Group,
  Modal,
  Select,
  Stack,
  Text,
  TextInput,
  Title,
  Tooltip,
} from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useMe } from '@/app/session'
import { Face } from './Face'
import { useRefresh } from './place'
import { useRoomsWords } from './rooms.words'

/** Who is in a room: people, those who are only invited among them, and agents; ask them in, send them away. */
export function People({
  room,
  agents,
  opened,
  onClose,
}: {
  room: Schema<'RoomOut'>
  agents: Schema<'AgentOut'>[]
  opened: boolean
  onClose: () => void
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const me = useMe()
  const refresh = useRefresh()
  const [email, setEmail] = useState('')
  const path = { room_id: room.id }
  const invite = useMutation({
    mutationFn: (user: string) =>
      ok(api.POST('/v1/rooms/{room_id}/participants', { params: { path }, body: { user } })),
    onSuccess: () => {
      setEmail('')
      return refresh()
    },
  })
  const leave = useMutation({
    mutationFn: (user: string) =>
      ok(
        api.DELETE('/v1/rooms/{room_id}/participants/{user_id}', {
          params: { path: { ...path, user_id: user } },
        }),
      ),
    onSuccess: refresh,
  })
  const add = useMutation({
    mutationFn: (agent: string) =>
      ok(api.POST('/v1/rooms/{room_id}/agents', { params: { path }, body: { agent } })),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: (slug: string) =>
      ok(api.DELETE('/v1/rooms/{room_id}/agents/{slug}', { params: { path: { ...path, slug } } })),
    onSuccess: refresh,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    invite.mutate(email.trim())
  }
  const nameOfAgent = (slug: string) => agents.find((one) => one.slug === slug)?.name ?? slug
  const outside = agents.filter((one) => !room.agents.includes(one.slug))
  return (
    <Modal
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={opened}
      onClose={onClose}
      title={words('whoIsIn', { room: room.name })}
    >
      <Stack gap="lg">
        <section>
          <Title order={3} size="h6" mb="xs">
            {words('people')}
          </Title>
          <Stack gap={6}>
            {room.participants.map((one) => (
              <Group key={one.user_id} justify="space-between" wrap="nowrap">
                <Group gap="sm" wrap="nowrap" miw={0}>
                  <Face name={one.name || one.email} />
                  <div style={{ minWidth: 0 }}>
                    <Text size="sm" truncate>
                      {one.name || one.email}
                    </Text>
                    <Text size="xs" c="dimmed" truncate>
                      {one.email}
                    </Text>
                  </div>
                  {one.status === 'invited' && (
                    <Badge variant="default" tt="none" fw={500} flex="none">
                      {words('invited')}
                    </Badge>
                  )}
                </Group>
                {one.user_id !== me?.user?.id && (
                  <Leave name={one.name || one.email} onClick={() => leave.mutate(one.user_id)} />
                )}
              </Group>
            ))}
          </Stack>
          <form onSubmit={submit}>
            <Group mt="sm" gap="xs" align="flex-end" wrap="nowrap">
              <TextInput
                flex={1}
                label={words('inviteByEmail')}
                description={words('inviteHint')}
                placeholder="max@example.org"
                value={email}
                onChange={(event) => setEmail(event.currentTarget.value)}
              />
              <Button type="submit" variant="default" loading={invite.isPending} disabled={!email.trim()}>
                {words('invite')}
              </Button>
            </Group>
          </form>
        </section>
        <section>
          <Title order={3} size="h6" mb="xs">
            {words('agents')}
          </Title>
          <Stack gap={6}>
            {room.agents.length === 0 && (
              <Text size="sm" c="dimmed">
                {words('noAgentsHere')}
              </Text>
            )}
            {room.agents.map((slug) => (
              <Group key={slug} justify="space-between" wrap="nowrap">
                <Group gap="sm">
                  <Face agent name={nameOfAgent(slug)} />
                  <Text size="sm">{nameOfAgent(slug)}</Text>
                </Group>
                <Leave name={nameOfAgent(slug)} onClick={() => remove.mutate(slug)} />
              </Group>
            ))}
          </Stack>
          {outside.length > 0 && (
            <Select
              mt="sm"
              label={words('letAgentIn')}
              placeholder={words('chooseAgent')}
              data={outside.map((one) => ({ value: one.slug, label: one.name }))}
              value={null}
              onChange={(slug) => slug && add.mutate(slug)}
            />
          )}
        </section>
      </Stack>
    </Modal>
  )
}

function Leave({ name, onClick }: { name: string; onClick: () => void }) {
  const words = useRoomsWords()
  const label = words('sendAway', { name })
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
        <IconX size={16} aria-hidden />
      </ActionIcon>
    </Tooltip>
  )
}
