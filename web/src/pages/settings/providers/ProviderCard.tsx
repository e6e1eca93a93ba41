import { Badge, Box, Button, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Confirm } from '../Confirm'
import { Section } from '../Section'
import { useProviderWords } from './providers.words'
import { Trial } from './Trial'
import { type Kept, type Settings, useConnect, useTrial } from './useProviders'

const SURE = {
  chat: 'disconnectChat',
  embeddings: 'disconnectEmbeddings',
  mail: 'disconnectMail',
} as const

/** One thing that a provider does for the server: which, and the form to connect one; or why it can't be changed here. */
export function ProviderCard({
  use,
  settings,
  provider,
  children,
  more,
}: {
  use: 'chat' | 'embeddings' | 'mail'
  settings: Settings
  provider: Kept | undefined
  children: ReactNode
  more?: ReactNode
}) {
  const words = useProviderWords()
  const [asking, setAsking] = useState(false)
  const connect = useConnect(use)
  const trial = useTrial()
  const chosen = settings.defaults[use]
  const by = chosen?.by ?? provider?.by
  const builtin = use === 'embeddings' && !provider && chosen?.provider === 'builtin'
  const state = by
    ? words('fixed')
    : provider
      ? words('connected')
      : builtin
        ? words('builtin')
        : words('off')
  return (
    <Section
      title={words(use)}
      about={words(`${use}About`)}
      action={
        <Badge variant={provider || builtin ? 'light' : 'default'} aria-live="polite">
          {state}
        </Badge>
      }
    >
      {by ? (
        <Stack gap="sm">
          {provider && (
            <Box>
              <Text fw={500}>{chosen?.model ?? provider.models[0] ?? provider.kind}</Text>
              <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {provider.base_url}
              </Text>
            </Box>
          )}
          <Text size="sm">{words('fixedWhy', { by })}</Text>
          {provider && (
            <Group>
              <Button
                variant="default"
                loading={trial.isPending}
                onClick={() => trial.mutate({ name: provider.name, model: chosen?.model, use })}
              >
                {words('test')}
              </Button>
            </Group>
          )}
          <Trial result={trial.data} error={trial.error} />
        </Stack>
      ) : (
        children
      )}
      {more}
      {provider && !by && (
        <Group mt="md">
          <Button variant="subtle" color="red" size="compact-sm" onClick={() => setAsking(true)}>
            {words('disconnect')}
          </Button>
        </Group>
      )}
      <Confirm
        opened={asking}
        title={words('disconnectSure', { what: words(use).toLowerCase() })}
        label={words('disconnect')}
        busy={connect.isPending}
        onConfirm={() => connect.mutate({ wanted: null }, { onSettled: () => setAsking(false) })}
        onClose={() => setAsking(false)}
      >
        {words(SURE[use])}
      </Confirm>
    </Section>
  )
}
