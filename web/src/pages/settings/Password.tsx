import { Button, Group, PasswordInput, SimpleGrid } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { meQuery } from '@/app/session'
import { Section } from './Section'
import { useSettingsWords } from './settings.words'

const SHORTEST = 8

export function Password({ user }: { user: Schema<'UserOut'> }) {
  const words = useSettingsWords()
  const client = useQueryClient()
  const [current, setCurrent] = useState('')
  const [wanted, setWanted] = useState('')
  const change = useMutation({
    mutationFn: () =>
      ok(api.POST('/auth/password', { body: { current: user.has_password ? current : null, new: wanted } })),
    onSuccess: () => {
      setCurrent('')
      setWanted('')
      notifications.show({ message: words('passwordDone') })
      void client.invalidateQueries({ queryKey: meQuery.queryKey })
      void client.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  return (
    <Section
      title={words('password')}
      about={user.has_password ? words('passwordHave') : words('passwordNone')}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate()
        }}
      >
        <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {user.has_password && (
            <PasswordInput
              visibilityToggleButtonProps={{ 'aria-label': words('passwordShow') }}
              label={words('passwordNow')}
              description={' '}
              value={current}
              onChange={(event) => setCurrent(event.currentTarget.value)}
              autoComplete="current-password"
            />
          )}
          <PasswordInput
            visibilityToggleButtonProps={{ 'aria-label': words('passwordShow') }}
            label={words('passwordNew')}
            description={words('passwordLength')}
            value={wanted}
            onChange={(event) => setWanted(event.currentTarget.value)}
            autoComplete="new-password"
            maxLength={1024}
          />
        </SimpleGrid>
        <Group mt="md">
          <Button
            type="submit"
            disabled={wanted.length < SHORTEST || (user.has_password && current === '')}
            loading={change.isPending}
          >
            {user.has_password ? words('passwordChange') : words('passwordSet')}
          </Button>
        </Group>
      </form>
    </Section>
  )
}
