import { Button, Group, Modal, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useSettingsWords } from '../settings.words'

export function AddPerson({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const frame = useFrameWords()
  const words = useSettingsWords()
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={words('personAdd')}
      closeButtonProps={{ 'aria-label': frame('close') }}
    >
      <PersonForm onClose={onClose} />
    </Modal>
  )
}

function PersonForm({ onClose }: { onClose: () => void }) {
  const frame = useFrameWords()
  const words = useSettingsWords()
  const client = useQueryClient()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState<Schema<'UserOut'>['role']>('member')
  const [password, setPassword] = useState('')
  const add = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/v1/users', {
          body: { email: email.trim(), name: name.trim(), role, password: password || null },
        }),
      ),
    onSuccess: (made) => {
      notifications.show({ message: words('personAdded', { email: made.email }) })
      void client.invalidateQueries({ queryKey: ['people'] })
      onClose()
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        add.mutate()
      }}
    >
      <Stack>
        <TextInput
          type="email"
          label={words('email')}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        <TextInput
          label={words('name')}
          placeholder={words('personOptional')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          autoComplete="off"
        />
        <Select
          label={words('personRole')}
          allowDeselect={false}
          data={[
            { value: 'member', label: words('member') },
            { value: 'owner', label: words('owner') },
          ]}
          value={role}
          onChange={(next) => next && setRole(next as typeof role)}
        />
        <PasswordInput
          visibilityToggleButtonProps={{ 'aria-label': words('passwordShow') }}
          label={words('personPassword')}
          description={words('passwordLength')}
          placeholder={words('personOptional')}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="new-password"
        />
        {password === '' && (
          <Text size="sm" c="dimmed">
            {words('personAddHow', { email: email.trim() || 'ada@example.org' })}
          </Text>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {frame('cancel')}
          </Button>
          <Button
            type="submit"
            disabled={!email.includes('@') || (password !== '' && password.length < 8)}
            loading={add.isPending}
          >
            {words('personAdd')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
