import { Button, Group, Select, Stack, Tabs, Text, Textarea } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { messagesQuery, useWorkspaces } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { useCuratorWords } from './curator.words'

export type SaidIn = { id?: string; role?: string; speaker?: string; content: string }
export type Source = { chat?: string; messages: SaidIn[] }

/** Which conversation: one of one's chats, or one that is pasted. */
export function CuratorSource({ chat, onChosen }: { chat?: string; onChosen: (source: Source) => void }) {
  const words = useCuratorWords()
  const [failed, setFailed] = useState<Error | null>(null)
  const [chosen, setChosen] = useState<string | null>(null)
  const [pasted, setPasted] = useState('')
  const [reading, setReading] = useState(chat !== undefined)
  const client = useQueryClient()
  const read = async (id: string) => {
    setReading(true)
    setFailed(null)
    try {
      const said = await client.fetchQuery(messagesQuery(id))
      const messages = said.map((one) => ({ id: one.id, role: one.role, content: one.content }))
      if (messages.length > 0) onChosen({ chat: id, messages })
      else setFailed(new Error(words('emptyChat')))
    } catch (error) {
      setFailed(error as Error)
    } finally {
      setReading(false)
    }
  }
  useEffect(() => {
    if (chat) void read(chat)
  }, [chat])
  if (chat) {
    return failed ? (
      <Failed error={failed} retry={() => void read(chat)} />
    ) : (
      <Skeletons lines={3} height={64} />
    )
  }
  const messages = conversation(pasted)
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed">
        {words('about')}
      </Text>
      <Tabs defaultValue="chat" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="chat">{words('fromChats')}</Tabs.Tab>
          <Tabs.Tab value="paste">{words('paste')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="chat">
          <Stack gap="md">
            <Chats value={chosen} onChange={setChosen} />
            {failed && <Failed error={failed} />}
            <Group justify="flex-end">
              <Button disabled={!chosen} loading={reading} onClick={() => chosen && void read(chosen)}>
                {words('look')}
              </Button>
            </Group>
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="paste">
          <Stack gap="md">
            <Textarea
              label={words('conversation')}
              description={words('conversationHint')}
              value={pasted}
              onChange={(event) => setPasted(event.currentTarget.value)}
              autosize
              minRows={8}
              maxRows={16}
            />
            <Group justify="flex-end">
              <Button disabled={messages.length === 0} onClick={() => onChosen({ messages })}>
                {words('look')}
              </Button>
            </Group>
          </Stack>
        </Tabs.Panel>
      </Tabs>
    </Stack>
  )
}

function Chats({ value, onChange }: { value: string | null; onChange: (chat: string | null) => void }) {
  const words = useCuratorWords()
  const format = useFormat()
  const workspaces = useWorkspaces()
  const found = useQuery({
    queryKey: ['curator', 'chats', workspaces.data?.map((one) => one.id)],
    queryFn: async () => {
      const lists = await Promise.all(
        (workspaces.data ?? [])
          .slice(0, 20)
          .map((one) =>
            ok(api.GET('/chat/api/chats', { params: { query: { workspace_id: one.id, limit: 100 } } })),
          ),
      )
      return lists
        .flatMap((one) => one.items)
        .sort((one, other) => other.updated_at.localeCompare(one.updated_at))
    },
    enabled: workspaces.data !== undefined,
  })
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  if (found.isPending) return <Skeletons lines={1} height={60} />
  if (found.data.length === 0) return <Text size="sm">{words('noChats')}</Text>
  return (
    <Select
      label={words('chat')}
      placeholder={words('chatPlaceholder')}
      searchable
      limit={100}
      value={value}
      onChange={onChange}
      data={found.data.map((one) => ({
        value: one.id,
        label: `${one.title || words('untitled')} · ${format.day(one.updated_at)}`,
      }))}
    />
  )
}

const SPEAKER = /^([\p{L}][\p{L}\p{N} ._-]{0,39})\s?[:：]\s*(.*)$/u
const ROLES: Record<string, string> = { you: 'user', user: 'user', me: 'user', assistant: 'assistant', ai: 'assistant', chatgpt: 'assistant', claude: 'assistant' } // biome-ignore format: a table

/** "Anna: …" begins what somebody says; without such lines each paragraph is said by oneself. */
export function conversation(text: string): SaidIn[] {
  const said: SaidIn[] = []
  for (const line of text.split('\n')) {
    const [, speaker, rest = ''] = SPEAKER.exec(line.trim()) ?? []
    if (speaker) said.push({ role: ROLES[speaker.toLowerCase()], speaker, content: rest })
    else if (said.length > 0) (said.at(-1) as SaidIn).content += `\n${line}`
    else if (line.trim()) said.push({ role: 'user', content: line })
  }
  const spoken = said.some((one) => one.speaker)
  const messages = spoken
    ? said
    : text.split(/\n\s*\n/).map((paragraph): SaidIn => ({ role: 'user', content: paragraph }))
  return messages
    .map((one) => ({ ...one, content: one.content.trim() }))
    .filter((one) => one.content)
    .slice(0, 1_000)
}
