import { Button, Group, Select, Stack, Text, TextInput, Title } from '@mantine/core'
import { IconLogout, IconUserMinus } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useMe } from '@/app/session'
import { Action } from '@/parts/chat/Action'
import { type Workspace, workspacesQuery } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { usePlaygroundWords } from './playground.words'
import classes from './Side.module.css'

const ROLES = ['viewer', 'member', 'editor', 'owner'] as const
type Role = (typeof ROLES)[number]

/** Who is in a workspace, and what each may. Its owners let people in and send them away; everybody may leave. */
export function Members({ workspace, onLeft }: { workspace: Workspace; onLeft: () => void }) {
  const words = usePlaygroundWords()
  const client = useQueryClient()
  const me = useMe()?.user?.id
  const owns = workspace.role === 'owner'
  const path = { workspace_id: workspace.id }
  const key = ['workspace', workspace.id, 'members']
  const [user, setUser] = useState('')
  const [role, setRole] = useState<Role>('member')
  const members = useQuery({
    queryKey: key,
    queryFn: async () =>
      (await ok(api.GET('/chat/api/workspaces/{workspace_id}/members', { params: { path } }))).items,
  })
  const put = useMutation({
    mutationFn: (body: { user: string; role: Role }) =>
      ok(api.PUT('/chat/api/workspaces/{workspace_id}/members', { params: { path }, body })),
    onSuccess: (now) => {
      client.setQueryData(key, now.items)
      setUser('')
    },
  })
  const remove = useMutation({
    mutationFn: (user_id: string) =>
      ok(
        api.DELETE('/chat/api/workspaces/{workspace_id}/members/{user_id}', {
          params: { path: { ...path, user_id } },
        }),
      ),
    onSuccess: async (_, user_id) => {
      if (user_id === me) {
        await client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
        onLeft()
      } else await client.invalidateQueries({ queryKey: key })
    },
  })
  const roles = ROLES.map((value) => ({ value, label: words(`role_${value}`) }))
  const add = (event: FormEvent) => {
    event.preventDefault()
    put.mutate({ user: user.trim(), role })
  }
  const row = (one: Schema<'MemberOut'>) => {
    const name = one.name || one.email
    return (
      <li key={one.user_id} className={classes.item}>
        <div className={classes.grow}>
          <Text size="sm" truncate title={one.email}>
            {name}
            {one.user_id === me && (
              <Text span size="sm" c="dimmed">
                {' '}
                · {words('me')}
              </Text>
            )}
          </Text>
          <Text size="xs" c="dimmed" truncate>
            {owns ? one.email : words(`role_${one.role as Role}`)}
          </Text>
        </div>
        {owns && (
          <Select
            aria-label={words('roleOf', { name })}
            size="xs"
            w={112}
            data={roles}
            value={one.role}
            allowDeselect={false}
            onChange={(next) => next && put.mutate({ user: one.user_id, role: next as Role })}
          />
        )}
        {owns && one.user_id !== me && (
          <Action
            icon={IconUserMinus}
            label={words('removeMember', { name })}
            onClick={() => remove.mutate(one.user_id)}
          />
        )}
      </li>
    )
  }
  const alone = members.data?.filter((one) => one.role === 'owner').length === 1 && owns
  return (
    <section aria-labelledby="members">
      <Title order={3} size="h6" id="members" mb={4}>
        {words('members')}
      </Title>
      {members.isPending && <Skeletons lines={2} height={44} />}
      {members.isError && <Failed error={members.error} retry={() => members.refetch()} />}
      <ul className={classes.people}>{members.data?.map(row)}</ul>
      {owns && (
        <form onSubmit={add}>
          <Stack gap={6} mt="sm">
            <Group gap="xs" align="flex-end" wrap="nowrap">
              <TextInput
                type="email"
                label={words('letIn')}
                placeholder="anna@example.org"
                value={user}
                onChange={(event) => setUser(event.currentTarget.value)}
                maxLength={255}
                flex={1}
              />
              <Select
                aria-label={words('newRole')}
                w={112}
                data={roles}
                value={role}
                allowDeselect={false}
                onChange={(next) => next && setRole(next as Role)}
              />
              <Button type="submit" disabled={!user.includes('@')} loading={put.isPending}>
                {words('add')}
              </Button>
            </Group>
            <Text size="xs" c="dimmed">
              {words(`may_${role}`)}
            </Text>
          </Stack>
        </form>
      )}
      {!alone && me && (
        <Button
          mt="md"
          variant="default"
          leftSection={<IconLogout size={16} stroke={1.6} aria-hidden />}
          onClick={() => remove.mutate(me)}
        >
          {words('leave')}
        </Button>
      )}
    </section>
  )
}
