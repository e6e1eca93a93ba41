import { Button, Code, Group, Image, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { meQuery } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Copied } from './Copied'
import { Section } from './Section'
import { useSafetyWords } from './safety.words'
import { useSettingsWords } from './settings.words'

/** Codes of an authenticator app at sign-in: set up in three steps, turned off with password and code. */
export function SecondFactor({ user }: { user: Schema<'UserOut'> }) {
  const words = useSafetyWords()
  const frame = useFrameWords()
  const client = useQueryClient()
  const [opened, setOpened] = useState(false)
  const state = useQuery({ queryKey: ['totp'], queryFn: () => ok(api.GET('/auth/totp')) })
  const enabled = state.data?.enabled ?? false
  const close = () => {
    setOpened(false)
    void client.invalidateQueries({ queryKey: ['totp'] })
    void client.invalidateQueries({ queryKey: meQuery.queryKey })
  }
  const about = enabled
    ? `${words('factorOn')} ${words('factorLeft', { count: state.data?.recovery_codes_left ?? 0 })}`
    : words('factorOff')
  return (
    <Section
      title={words('factor')}
      about={about}
      action={
        state.data && (
          <Button variant="default" onClick={() => setOpened(true)}>
            {enabled ? words('factorTurnOff') : words('factorSetUp')}
          </Button>
        )
      }
    >
      {state.isError && <Failed error={state.error} retry={state.refetch} />}
      <Modal
        opened={opened}
        onClose={close}
        closeOnClickOutside={false}
        title={enabled ? words('factorSurely') : words('factor')}
        closeButtonProps={{ 'aria-label': frame('close') }}
      >
        {enabled ? <TurnOff user={user} onDone={close} /> : <SetUp user={user} onDone={close} />}
      </Modal>
    </Section>
  )
}

function SetUp({ user, onDone }: { user: Schema<'UserOut'>; onDone: () => void }) {
  const words = useSafetyWords()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const enrol = useMutation({
    mutationFn: () => ok(api.POST('/auth/totp', { body: { password: password || null } })),
  })
  const confirm = useMutation({
    mutationFn: () => ok(api.POST('/auth/totp/confirm', { body: { code } })),
  })
  if (confirm.data) return <Recovery codes={confirm.data.recovery_codes} onDone={onDone} />
  if (enrol.data)
    return (
      <Steps label={words('turnOn')} ready={code !== ''} busy={confirm.isPending} go={confirm.mutate}>
        <Text size="sm">{words('scan')}</Text>
        <Image
          src={`data:image/svg+xml,${encodeURIComponent(enrol.data.qr_svg)}`}
          alt={words('picture')}
          w={220}
          mx="auto"
        />
        <Group gap="xs" align="flex-end" wrap="nowrap">
          <TextInput flex={1} label={words('secret')} value={enrol.data.secret} readOnly ff="monospace" />
          <Copied text={enrol.data.secret} />
        </Group>
        <CodeInput code={code} change={setCode} />
      </Steps>
    )
  return (
    <Steps
      label={words('next')}
      ready={!user.has_password || password !== ''}
      busy={enrol.isPending}
      go={enrol.mutate}
    >
      {user.has_password && <PasswordAgain password={password} change={setPassword} />}
      {!user.has_password && <Text size="sm">{words('factorOff')}</Text>}
    </Steps>
  )
}

function TurnOff({ user, onDone }: { user: Schema<'UserOut'>; onDone: () => void }) {
  const words = useSafetyWords()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const disable = useMutation({
    mutationFn: () => ok(api.POST('/auth/totp/disable', { body: { password: password || null, code } })),
    onSuccess: onDone,
  })
  return (
    <Steps label={words('factorTurnOff')} ready={code !== ''} busy={disable.isPending} go={disable.mutate}>
      {user.has_password && <PasswordAgain password={password} change={setPassword} />}
      <CodeInput code={code} change={setCode} />
    </Steps>
  )
}

function Steps({
  label,
  ready,
  busy,
  go,
  children,
}: {
  label: string
  ready: boolean
  busy: boolean
  go: () => void
  children: React.ReactNode
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        go()
      }}
    >
      <Stack>
        {children}
        <Group justify="flex-end">
          <Button type="submit" disabled={!ready} loading={busy}>
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function PasswordAgain({ password, change }: { password: string; change: (password: string) => void }) {
  const words = useSafetyWords()
  const settings = useSettingsWords()
  return (
    <PasswordInput
      label={words('password')}
      description={words('passwordFirst')}
      value={password}
      onChange={(event) => change(event.currentTarget.value)}
      autoComplete="current-password"
      visibilityToggleButtonProps={{ 'aria-label': settings('passwordShow') }}
      data-autofocus
    />
  )
}

function CodeInput({ code, change }: { code: string; change: (code: string) => void }) {
  const words = useSafetyWords()
  return (
    <TextInput
      label={words('code')}
      description={words('codeHow')}
      value={code}
      onChange={(event) => change(event.currentTarget.value)}
      autoComplete="one-time-code"
      maxLength={64}
      data-autofocus
    />
  )
}

function Recovery({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const words = useSafetyWords()
  const text = codes.join('\n')
  return (
    <Stack>
      <Text fw={500}>{words('recovery')}</Text>
      <Text size="sm">{words('recoveryHow')}</Text>
      <Code block tabIndex={0} aria-label={words('recovery')}>
        {text}
      </Code>
      <Group justify="flex-end">
        <Copied text={text} />
        <Button onClick={onDone}>{words('recoveryDone')}</Button>
      </Group>
    </Stack>
  )
}
