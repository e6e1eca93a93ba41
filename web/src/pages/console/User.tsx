import { Anchor, Badge, Button, Group, NumberInput, Radio, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconArrowLeft } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useParams } from 'react-router'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Card } from './Card'
import { useConsoleWords } from './console.words'
import { Facts } from './Facts'
import { Kept } from './Users'

const MB = 1024 * 1024

export function User() {
  const words = useConsoleWords()
  const { user_id = '' } = useParams()
  const found = useQuery({
    queryKey: ['console', 'user', user_id],
    queryFn: () => ok(api.GET('/x_console/api/users/{user_id}', { params: { path: { user_id } } })),
  })
  return (
    <Stack>
      <Anchor component={Link} to="/x_console/users" size="sm">
        <Group gap={4}>
          <IconArrowLeft size={16} aria-hidden />
          {words('back')}
        </Group>
      </Anchor>
      {found.isPending && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && <About user={found.data} />}
      {found.data && <Quota key={found.data.quota_bytes} user={found.data} />}
    </Stack>
  )
}

function About({ user }: { user: Schema<'ResidentOut'> }) {
  const words = useConsoleWords()
  const format = useFormat()
  return (
    <Card
      title={user.email}
      about={user.id}
      action={user.is_admin && <Badge variant="light">{words('admin')}</Badge>}
    >
      <Facts
        of={[
          [words('plan'), user.plan],
          [words('role'), user.role === 'owner' ? words('owner') : words('member')],
          [words('keeps'), <Kept key="kept" user={user} />],
          [words('lastLogin'), user.last_login_at ? format.minute(user.last_login_at) : words('never')],
          [words('since'), format.day(user.created_at)],
          [words('accountId'), user.account_id],
        ]}
      />
    </Card>
  )
}

/** How much this user may keep, whatever the plan says; null goes back to the plan. */
function Quota({ user }: { user: Schema<'ResidentOut'> }) {
  const frame = useFrameWords()
  const words = useConsoleWords()
  const client = useQueryClient()
  const [own, setOwn] = useState(user.quota_bytes !== null)
  const [size, setSize] = useState<string | number>(
    user.quota_bytes === null ? '' : Math.round((user.quota_bytes / MB) * 1000) / 1000,
  )
  const wanted = own ? Math.round(Number(size) * MB) : null
  const set = useMutation({
    mutationFn: () =>
      ok(
        api.PATCH('/x_console/api/users/{user_id}', {
          params: { path: { user_id: user.id } },
          body: { quota_bytes: wanted },
        }),
      ),
    onSuccess: (changed) => {
      client.setQueryData(['console', 'user', user.id], changed)
      void client.invalidateQueries({ queryKey: ['console', 'users'] })
      notifications.show({ message: words('quotaSaved') })
    },
  })
  return (
    <Card title={words('quota')} about={words('quotaHow')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          set.mutate()
        }}
      >
        <Stack align="flex-start">
          <Radio.Group
            value={own ? 'own' : 'plan'}
            onChange={(next) => setOwn(next === 'own')}
            aria-label={words('quota')}
          >
            <Stack gap="xs">
              <Radio value="plan" label={words('quotaPlan', { plan: user.plan })} />
              <Radio value="own" label={words('quotaOwn')} />
            </Stack>
          </Radio.Group>
          {own && (
            <NumberInput
              label={words('quotaMb')}
              value={size}
              onChange={setSize}
              min={0}
              max={2 ** 40}
              decimalScale={3}
              thousandSeparator=" "
              allowNegative={false}
              w={200}
            />
          )}
          <Button
            type="submit"
            disabled={(own && size === '') || wanted === user.quota_bytes}
            loading={set.isPending}
          >
            {frame('save')}
          </Button>
        </Stack>
      </form>
    </Card>
  )
}
