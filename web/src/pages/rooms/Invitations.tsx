import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { useRefresh } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'

/** Rooms that one is asked to join. Until then nothing of oneself is read there, and nothing said there is shown. */
export function Invitations({
  invitations,
  onAccepted,
}: {
  invitations: Schema<'InvitationOut'>[]
  onAccepted: (room: string) => void
}) {
  const words = useRoomsWords()
  const refresh = useRefresh()
  const pathOf = (id: string) => ({ params: { path: { invitation_id: id } } })
  const accept = useMutation({
    mutationFn: (id: string) => ok(api.POST('/v1/invitations/{invitation_id}/accept', pathOf(id))),
    onSuccess: async (room) => {
      await refresh()
      onAccepted(room.id)
    },
    onError: refresh, // it may have been withdrawn meanwhile
  })
  const decline = useMutation({
    mutationFn: (id: string) => ok(api.POST('/v1/invitations/{invitation_id}/decline', pathOf(id))),
    onSettled: refresh,
  })
  const busy = accept.isPending || decline.isPending
  return (
    <>
      <div className={classes.heading}>
        <Title order={2} size="h6" id="invitations">
          {words('invitations')}
        </Title>
      </div>
      <Stack component="ul" className={classes.invitations} gap="xs" aria-labelledby="invitations">
        {invitations.map((one) => (
          <li key={one.id} className={classes.item}>
            <Text size="sm" fw={500} truncate title={one.room_name}>
              {one.room_name}
            </Text>
            <Text size="xs" c="dimmed">
              {words('invitedBy', { name: one.inviter_name })}
            </Text>
            <Group gap={6} mt={6}>
              <Button
                size="compact-xs"
                disabled={busy}
                aria-label={words('acceptRoom', { room: one.room_name })}
                onClick={() => accept.mutate(one.id)}
              >
                {words('accept')}
              </Button>
              <Button
                size="compact-xs"
                variant="default"
                disabled={busy}
                aria-label={words('declineRoom', { room: one.room_name })}
                onClick={() => decline.mutate(one.id)}
              >
                {words('decline')}
              </Button>
            </Group>
          </li>
        ))}
      </Stack>
    </>
  )
}
