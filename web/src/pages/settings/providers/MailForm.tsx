import {
  Button,
  Group,
  NumberInput,
  PasswordInput,
  Select,
  SimpleGrid,
  Stack,
  TextInput,
} from '@mantine/core'
import { useState } from 'react'
import { useProviderWords } from './providers.words'
import { Trial } from './Trial'
import { type Kept, useConnect, useTrial, type Wanted } from './useProviders'

const PORTS = { smtp: 587, smtps: 465 } as const
type Scheme = keyof typeof PORTS

/** A mail server: its test sends a real message. */
export function MailForm({ provider, email }: { provider: Kept | undefined; email: string }) {
  const words = useProviderWords()
  const trial = useTrial()
  const connect = useConnect('mail')
  const before = taken(provider?.base_url)
  const [scheme, setScheme] = useState<Scheme>(before.scheme)
  const [host, setHost] = useState(before.host)
  const [port, setPort] = useState<number | string>(before.port)
  const [user, setUser] = useState(before.user)
  const [password, setPassword] = useState('')
  const [sender, setSender] = useState(provider?.sender ?? '')
  const [to, setTo] = useState(email)
  const base_url = `${scheme}://${user ? `${encodeURIComponent(user)}@` : ''}${host.trim()}:${port}`
  const kept = provider !== undefined && provider.base_url === base_url && provider.key.set
  const wanted = (): Wanted => ({
    name: provider?.name ?? 'mail',
    kind: 'smtp',
    base_url,
    models: [],
    sender: sender.trim() || null,
    ...(password ? { key: password } : kept ? {} : { key: null }),
  })
  const ready = host.trim() !== '' && port !== ''
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        connect.mutate({ wanted: wanted() }, { onSuccess: () => setPassword('') })
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={words('host')}
          value={host}
          onChange={(event) => setHost(event.currentTarget.value)}
          placeholder="mail.example.org"
          spellCheck={false}
          maxLength={255}
        />
        <SimpleGrid cols={2}>
          <Select
            label={words('security')}
            data={[
              { value: 'smtp', label: words('starttls') },
              { value: 'smtps', label: words('tls') },
            ]}
            value={scheme}
            allowDeselect={false}
            onChange={(next) => {
              if (!next) return
              setScheme(next as Scheme)
              setPort(PORTS[next as Scheme])
            }}
          />
          <NumberInput
            label={words('port')}
            value={port}
            onChange={setPort}
            min={1}
            max={65535}
            allowDecimal={false}
            hideControls
          />
          <TextInput
            label={words('user')}
            value={user}
            onChange={(event) => setUser(event.currentTarget.value)}
            placeholder={words('optional')}
            autoComplete="off"
            spellCheck={false}
          />
          <PasswordInput
            label={words('password')}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            placeholder={kept ? '••••••••' : words('optional')}
            autoComplete="new-password"
            maxLength={4096}
            visibilityToggleButtonProps={{ 'aria-label': words('showKey') }}
          />
        </SimpleGrid>
        <TextInput
          label={words('sender')}
          description={words('senderHow')}
          value={sender}
          onChange={(event) => setSender(event.currentTarget.value)}
          placeholder="keepstone@example.org"
          type="email"
          maxLength={254}
        />
        <TextInput
          label={words('to')}
          value={to}
          onChange={(event) => setTo(event.currentTarget.value)}
          type="email"
          maxLength={254}
        />
        <Group gap="xs">
          <Button
            variant="default"
            disabled={!ready}
            loading={trial.isPending}
            onClick={() => trial.mutate({ provider: wanted(), use: 'mail', to: to.trim() || null })}
          >
            {words('testMail')}
          </Button>
          <Button type="submit" disabled={!ready} loading={connect.isPending}>
            {words('save')}
          </Button>
        </Group>
        <Trial result={trial.data} error={trial.error} to={to.trim()} />
      </Stack>
    </form>
  )
}

/** An address such as smtp://user@host:587, in its parts. */
function taken(address: string | null | undefined): {
  scheme: Scheme
  host: string
  port: number
  user: string
} {
  const parts = /^(smtps?):\/\/(?:([^@]*)@)?([^:/]+)(?::(\d+))?/.exec(address ?? '')
  const scheme: Scheme = parts?.[1] === 'smtps' ? 'smtps' : 'smtp'
  return {
    scheme,
    user: decodeURIComponent(parts?.[2] ?? ''),
    host: parts?.[3] ?? '',
    port: Number(parts?.[4] ?? PORTS[scheme]),
  }
}
