import { Alert, Blockquote, Box, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useAddress } from '@/parts/address'
import { Section } from './Section'
import { Snippet } from './Snippet'
import { useSettingsWords } from './settings.words'
import {
  CLIENT_NAMES,
  CLIENTS,
  type Client,
  command,
  direct,
  isPrivate,
  MEMORIES,
  type Memory,
  remote,
} from './snippets'

export function Mcp() {
  const words = useSettingsWords()
  const cache = useQueryClient()
  const [asked, ask] = useAddress()
  const client = CLIENTS.find((one) => one === asked.get('client')) ?? 'desktop'
  const memory: Memory = asked.get('memory') === 'graphs' ? 'graphs' : 'capsules'
  const [made, setMade] = useState<{ name: string; key: string }>()
  const choose = (name: string, value: string) => ask({ [name]: value }, { replace: true })
  const make = useMutation({
    mutationFn: () =>
      ok(api.POST('/v1/keys', { body: { name: CLIENT_NAMES[client], service: false, permission: 'write' } })),
    onSuccess: (key) => {
      setMade(key)
      void cache.invalidateQueries({ queryKey: ['keys'] })
    },
  })
  const url = location.origin + MEMORIES[memory]
  const key = made?.key ?? 'YOUR_KEY'
  return (
    <Section title={words('mcp')} about={words('mcpAbout')}>
      <Stack gap="md">
        <Group gap="xl" align="flex-start">
          <Choice
            label={words('mcpClient')}
            data={CLIENTS.map((one) => ({ value: one, label: CLIENT_NAMES[one] }))}
            value={client}
            onChange={(value) => choose('client', value)}
          />
          <Choice
            label={words('mcpMemory')}
            data={[
              { value: 'capsules', label: words('mcpCapsules') },
              { value: 'graphs', label: words('mcpGraphs') },
            ]}
            value={memory}
            onChange={(value) => choose('memory', value)}
          />
        </Group>
        <Text size="sm" c="dimmed">
          {memory === 'capsules' ? words('mcpCapsulesHow') : words('mcpGraphsHow')}
        </Text>
        <Group gap="md">
          <Button
            variant={made ? 'default' : 'filled'}
            loading={make.isPending}
            onClick={() => make.mutate()}
          >
            {words('mcpKey')}
          </Button>
          <Text size="sm" flex={1} miw={220} aria-live="polite">
            {made ? words('mcpKeyMade', { name: made.name }) : words('mcpKeyMaking')}
          </Text>
        </Group>
        {!isPrivate(url) && <Alert color="yellow">{words('mcpPlain')}</Alert>}
      </Stack>
      <Configuration client={client} memory={memory} url={url} secret={key} />
      <Text fw={600} size="sm" mt="lg" mb="xs">
        {words('mcpSay')}
      </Text>
      <Stack gap="xs">
        {(memory === 'capsules'
          ? [words('mcpSaySave'), words('mcpSayFind')]
          : [words('mcpSayNode'), words('mcpSayRecall')]
        ).map((line) => (
          <Blockquote key={line} p="xs" pl="md" my={0} fz="sm">
            {line}
          </Blockquote>
        ))}
      </Stack>
    </Section>
  )
}

function Configuration({
  client,
  memory,
  url,
  secret,
}: {
  client: Client
  memory: Memory
  url: string
  secret: string
}) {
  const words = useSettingsWords()
  if (client === 'desktop')
    return <Snippet where={words('mcpDesktopWhere')} text={remote(memory, url, secret)} />
  if (client === 'code')
    return (
      <>
        <Snippet where={words('mcpCodeWhere')} text={command(memory, url, secret)} />
        <Snippet where={words('mcpCodeFile')} text={direct(memory, url, secret, 'http')} />
      </>
    )
  return (
    <>
      <Snippet where={words('mcpCursorWhere')} text={direct(memory, url, secret)} />
      <Snippet where={words('mcpCursorRemote')} text={remote(memory, url, secret)} />
    </>
  )
}

function Choice({
  label,
  ...control
}: {
  label: string
  data: { value: string; label: string }[]
  value: string
  onChange: (value: string) => void
}) {
  return (
    <Box>
      <Text size="sm" fw={500} mb={4}>
        {label}
      </Text>
      <SegmentedControl {...control} size="xs" aria-label={label} />
    </Box>
  )
}
