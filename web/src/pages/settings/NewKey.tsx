import { Alert, Button, Group, Modal, Select, Stack, Switch, TextInput } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { Copied } from './Copied'
import { KeyLimits, NO_LIMITS, sent } from './KeyLimits'
import { useSettingsWords } from './settings.words'

const DAYS = ['30', '90', '365'] as const

/** Makes a key, and then shows it this once. */
export function NewKey({ opened, onClose, owner }: { opened: boolean; onClose: () => void; owner: boolean }) {
  const frame = useFrameWords()
  const words = useSettingsWords()
  const [made, setMade] = useState<Schema<'NewKeyOut'>>()
  const close = () => {
    setMade(undefined)
    onClose()
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={made ? words('keyYours') : words('keyNew')}
      closeOnClickOutside={made === undefined}
      closeButtonProps={{ 'aria-label': frame('close') }}
    >
      {made ? (
        <Secret made={made} onDone={close} />
      ) : (
        <KeyForm owner={owner} onMade={setMade} onCancel={close} />
      )}
    </Modal>
  )
}

function KeyForm({
  owner,
  onMade,
  onCancel,
}: {
  owner: boolean
  onMade: (made: Schema<'NewKeyOut'>) => void
  onCancel: () => void
}) {
  const frame = useFrameWords()
  const words = useSettingsWords()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [days, setDays] = useState<string | null>('never')
  const [service, setService] = useState(false)
  const [limits, setLimits] = useState(NO_LIMITS)
  const make = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/v1/keys', {
          body: { name: name.trim(), service, expires_at: inDays(Number(days)), ...sent(limits) },
        }),
      ),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ['keys'] })
      onMade(made)
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        make.mutate()
      }}
    >
      <Stack>
        <TextInput
          label={words('keyName')}
          description={words('keyNameHow')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={255}
          data-autofocus
        />
        <Select
          label={words('keyExpires')}
          value={days}
          onChange={setDays}
          allowDeselect={false}
          data={[
            { value: 'never', label: words('keyNever') },
            ...DAYS.map((count) => ({
              value: count,
              label: count === '365' ? words('keyYear') : words('keyDays', { count: Number(count) }),
            })),
          ]}
        />
        <KeyLimits limits={limits} change={setLimits} />
        {owner && (
          <Switch
            label={words('keyService')}
            description={words('keyServiceHow')}
            checked={service}
            onChange={(event) => setService(event.currentTarget.checked)}
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {frame('cancel')}
          </Button>
          <Button type="submit" disabled={name.trim() === ''} loading={make.isPending}>
            {words('keyMake')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function inDays(days: number): string | null {
  return Number.isNaN(days) ? null : new Date(Date.now() + days * 86_400_000).toISOString()
}

function Secret({ made, onDone }: { made: Schema<'NewKeyOut'>; onDone: () => void }) {
  const words = useSettingsWords()
  const frame = useFrameWords()
  return (
    <Stack>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <TextInput
          flex={1}
          label={made.name}
          value={made.key}
          readOnly
          ff="monospace"
          onFocus={(event) => event.currentTarget.select()}
          data-autofocus
        />
        <Copied text={made.key} label={frame('copy')} />
      </Group>
      <Alert icon={<IconAlertTriangle aria-hidden />} title={words('keyOnce')} role="status">
        {words('keyOnceHow')}
      </Alert>
      <Group justify="flex-end">
        <Button onClick={onDone}>{words('keyDone')}</Button>
      </Group>
    </Stack>
  )
}
