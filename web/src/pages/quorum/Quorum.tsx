import { Button, Select, Switch, Text, Title } from '@mantine/core'
import { useDocumentTitle, useLocalStorage } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useAddress } from '@/parts/address'
import { useModels } from '@/parts/chat/models'
import { NoModel } from '@/parts/chat/NoModel'
import { type Message, messagesQuery, useWorkspaces, workspaceName } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import type { Exchange } from './exchanges'
import { Panes } from './Panes'
import classes from './Quorum.module.css'
import { useQuorumWords } from './quorum.words'

const CHAT = /^chat_[a-z0-9]{24}$/

/** Two models on one question. Where both chats are kept, the address leads back to them. */
export default function Quorum() {
  const words = useQuorumWords()
  useDocumentTitle(`${words('title')} · Keepstone`)
  const models = useModels()
  const workspaces = useWorkspaces()
  const [query, change] = useAddress()
  const left = query.get('left')?.match(CHAT)?.[0]
  const right = query.get('right')?.match(CHAT)?.[0]
  const leave = () => change({ left: null, right: null })
  const [session, setSession] = useState(0)
  const own = useRef(`${left} ${right}`)
  // Another address is another quorum, unless it is the one that has just begun here.
  useEffect(() => {
    const now = `${left} ${right}`
    if (now === own.current) return
    own.current = now
    setSession((before) => before + 1)
  }, [left, right])
  const [kept, setKept] = useLocalStorage({
    key: 'keepstone.quorum.place',
    defaultValue: { memory: true, workspace: '' },
    getInitialValueInEffect: false,
  })
  const [loaded, setLoaded] = useState<{ session: number; left: Exchange[]; right: Exchange[] }>()
  const loading = loaded?.session !== session
  const first = useQuery({ ...messagesQuery(left ?? ''), enabled: loading && left !== undefined })
  const second = useQuery({ ...messagesQuery(right ?? ''), enabled: loading && right !== undefined })
  const waiting =
    (left && (first.isPending || first.isFetching)) || (right && (second.isPending || second.isFetching))
  useEffect(() => {
    if (waiting || !loading) return
    setLoaded({
      session,
      left: left ? exchangesOf(first.data ?? []) : [],
      right: right ? exchangesOf(second.data ?? []) : [],
    })
  }, [waiting, loading, session, left, right, first.data, second.data])

  const all = workspaces.data ?? []
  const current = all.find((one) => one.id === kept.workspace) ?? all.find((one) => one.is_default) ?? all[0]
  const error = first.error ?? second.error ?? workspaces.error
  return (
    <div className={classes.page}>
      <div className={classes.bar}>
        <div>
          <Title order={1} size="h4">
            {words('title')}
          </Title>
          <Text size="sm" c="dimmed" visibleFrom="sm">
            {words('about')}
          </Text>
        </div>
        <span style={{ flex: 1 }} />
        {models.connected && (
          <>
            {all.length > 1 && kept.memory && (
              <Select
                aria-label={words('workspace')}
                size="xs"
                w={{ base: 120, sm: 170 }}
                value={current?.id}
                onChange={(workspace) => workspace && setKept({ ...kept, workspace })}
                data={all.map((one) => ({
                  value: one.id,
                  label: workspaceName(one, words('defaultWorkspace')),
                }))}
                allowDeselect={false}
                disabled={left !== undefined}
              />
            )}
            <Switch
              label={words('memory')}
              checked={kept.memory}
              onChange={(event) => setKept({ ...kept, memory: event.currentTarget.checked })}
              title={words(kept.memory ? 'memoryHint' : 'memoryOff')}
            />
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPlus size={15} stroke={1.8} aria-hidden />}
              onClick={() => (left || right ? leave() : setSession(session + 1))}
            >
              {words('fresh')}
            </Button>
          </>
        )}
      </div>
      {error && <Failed error={error} retry={leave} />}
      {!models.connected && (
        <div style={{ padding: 16 }}>
          <NoModel />
        </div>
      )}
      {models.pending || (!error && loading) || !current ? <Waiting /> : null}
      {models.connected && !models.pending && !error && current && loaded && !loading && (
        <Panes
          key={session}
          chats={{ left, right }}
          before={loaded}
          memory={kept.memory}
          workspace={current.id}
          onBegun={(chats) => {
            own.current = `${chats.left} ${chats.right}`
            change(chats, { replace: true })
          }}
        />
      )}
    </div>
  )
}

/** What is kept of a chat, as questions and their answers. */
function exchangesOf(messages: Message[]): Exchange[] {
  const found: Exchange[] = []
  for (const one of messages) {
    const last = found.at(-1)
    if (one.role === 'user') {
      found.push({ question: one.content, capsules: [], answer: '', used: [], phase: 'unanswered' })
    } else if (last) {
      const ids = Array.isArray(one.metadata.injected) ? one.metadata.injected : []
      last.answer = one.content
      last.model = one.model ?? undefined
      last.used = ids.map((id) => ({ id: String(id) }))
      last.phase = 'done'
    }
  }
  return found
}
