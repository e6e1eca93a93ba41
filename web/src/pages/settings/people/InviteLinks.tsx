import { Alert, Badge, Button, Group, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { Copied } from '../Copied'
import { Row, Rows } from '../Row'
import { Section } from '../Section'
import { useSettingsWords } from '../settings.words'
import { useInviteWords } from './invite.words'

type Role = Schema<'InviteLinkOut'>['role']

/** Links with which somebody new comes into the account: make one, see those that wait, take one back. */
export function InviteLinks() {
  const words = useInviteWords()
  const settings = useSettingsWords()
  const format = useFormat()
  const client = useQueryClient()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const found = useQuery({ queryKey: ['invites'], queryFn: () => ok(api.GET('/v1/invite-links')) })
  const refresh = () => client.invalidateQueries({ queryKey: ['invites'] })
  const make = useMutation({
    mutationFn: () => ok(api.POST('/v1/invite-links', { body: { email: email.trim() || null, role } })),
    onSuccess: () => setEmail(''),
    onSettled: refresh,
  })
  const revoke = useMutation({
    mutationFn: (link_id: string) =>
      ok(api.DELETE('/v1/invite-links/{link_id}', { params: { path: { link_id } } })),
    onSuccess: (_, link_id) => {
      if (make.data?.id === link_id) make.reset()
      notifications.show({ message: words('revoked') })
    },
    onSettled: refresh,
  })
  const roles = (['member', 'owner'] as const).map((value) => ({ value, label: settings(value) }))
  return (
    <Section title={words('title')} about={words('about')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          make.mutate()
        }}
      >
        <Stack gap="sm" align="stretch">
          <SimpleGrid cols={{ base: 1, xs: 2 }} style={{ alignItems: 'end' }}>
            <TextInput
              label={words('email')}
              description={words('emailHow')}
              placeholder={words('optional')}
              type="email"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              maxLength={254}
            />
            <Select
              label={words('role')}
              data={roles}
              value={role}
              allowDeselect={false}
              onChange={(next) => next && setRole(next as Role)}
            />
          </SimpleGrid>
          <Group>
            <Button type="submit" loading={make.isPending}>
              {words('make')}
            </Button>
          </Group>
        </Stack>
      </form>
      {make.data && (
        <Alert mt="md" title={words('ready')} role="status">
          <Group gap="xs" align="flex-end" wrap="nowrap" mb="xs">
            <TextInput
              flex={1}
              aria-label={words('link')}
              value={make.data.url}
              readOnly
              ff="monospace"
              onFocus={(event) => event.currentTarget.select()}
            />
            <Copied text={make.data.url} />
          </Group>
          {words('once')}
        </Alert>
      )}
      <Text fw={600} size="sm" mt="lg" mb="xs">
        {words('pending')}
      </Text>
      {found.isPending && <Skeletons lines={1} height={44} />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data?.items.length === 0 && (
        <Text size="sm" c="dimmed">
          {words('none')}
        </Text>
      )}
      {found.data && found.data.items.length > 0 && (
        <Rows label={words('pending')}>
          {found.data.items.map((link) => (
            <Row
              key={link.id}
              action={
                <Button
                  size="xs"
                  variant="default"
                  aria-label={words('revokeNamed', { name: link.email ?? words('anybody') })}
                  onClick={() => revoke.mutate(link.id)}
                >
                  {words('revoke')}
                </Button>
              }
            >
              <Group gap="xs">
                <Text size="sm" fw={500} truncate maw="100%">
                  {link.email ?? words('anybody')}
                </Text>
                {link.role === 'owner' && <Badge variant="light">{settings('owner')}</Badge>}
              </Group>
              <Text size="xs" c="dimmed">
                {words('until', { at: format.minute(link.expires_at) })}
              </Text>
            </Row>
          ))}
        </Rows>
      )}
    </Section>
  )
}
