import { Button, Text } from '@mantine/core'
import { useSessionStorage } from '@mantine/hooks'
import { IconArrowDown, IconRefresh } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { useNavigate } from 'react-router'
import { api, ok } from '@/api/client'
import { useMe } from '@/app/session'
import { useAddress } from '@/parts/address'
import { CapsuleChips } from '@/parts/capsules/CapsuleChips'
import { type CapsuleDraft, SaveSheet } from '@/parts/capsules/SaveSheet'
import { AttachAction } from '@/parts/chat/AttachAction'
import { useAttached } from '@/parts/chat/attached'
import { Bubble } from '@/parts/chat/Bubble'
import { Composer } from '@/parts/chat/Composer'
import { useChatWords } from '@/parts/chat/chat.words'
import { useFollow } from '@/parts/chat/follow'
import { useModels } from '@/parts/chat/models'
import { NoModel } from '@/parts/chat/NoModel'
import { Related } from '@/parts/chat/Related'
import { chatMemoriesQuery, type Message, messagesQuery } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { ModelPicker, useLastModel } from '@/parts/ModelPicker'
import { Skeletons } from '@/parts/Skeletons'
import classes from './Conversation.module.css'
import { Did } from './Did'
import { LeftOut, type LeftOutMemory } from './LeftOut'
import { MessageItem } from './MessageItem'
import { ModeSelect } from './ModeSelect'
import { Outcome } from './Outcome'
import { usePlaygroundWords } from './playground.words'
import { Start } from './Start'
import { type Asked, ask, isBusy, type Mode, stop, useTurns } from './turns'

const SHOWN = 60
const TITLE = 60

/** What was said in a chat, and where one says more. Without a chat, the first message begins one. */
export function Conversation({
  chat,
  workspace,
  mode,
  linkTo,
  onMode,
  onBegun,
}: {
  chat: string | undefined
  workspace: string
  mode: Mode
  linkTo: (memory: string) => string
  onMode: (mode: Mode) => void
  onBegun: (chat: string) => void
}) {
  const words = usePlaygroundWords()
  const said = useChatWords()
  const client = useQueryClient()
  const go = useNavigate()
  const me = useMe()?.user?.id
  const models = useModels()
  const [model, setModel] = useLastModel('playground')
  const { turns, used } = useTurns()
  const turn = chat ? turns[chat] : undefined
  const busy = isBusy(turn)
  const messages = useQuery({ ...messagesQuery(chat ?? ''), enabled: chat !== undefined })
  const memories = useQuery({ ...chatMemoriesQuery(chat ?? ''), enabled: chat !== undefined })
  const [text, setText] = useState('')
  const [shown, setShown] = useState(SHOWN)
  const [draft, setDraft] = useState<CapsuleDraft | null>(null)
  const attached = useAttached()
  const [out, setOut] = useSessionStorage<LeftOutMemory[]>({
    key: `keepstone.without.${chat ?? 'new'}`,
    defaultValue: [],
  })
  const without = out.map((one) => one.id)
  const kept = (chat && messages.data) || []
  const left = busy ? kept.findIndex((one) => one.id === turn?.insteadOf?.id) : -1
  const all = left < 0 ? kept : kept.slice(0, left) // what another is being written in the place of
  const [params] = useAddress()
  const wanted = all.findLastIndex((message) => message.id === params.get('show'))
  const visible = all.slice(wanted < 0 ? -shown : Math.min(wanted, Math.max(0, all.length - shown)))
  const { box, onScroll, away, toEnd } = useFollow(`${all.length} ${turn?.phase} ${turn?.text.length}`)

  const begin = useMutation({
    mutationFn: (content: string) =>
      ok(
        api.POST('/chat/api/chats', {
          body: { title: titleOf(content), workspace_id: workspace, kind: 'chat' },
        }),
      ),
  })
  const say = async (asked: Omit<Asked, 'chat' | 'workspace' | 'model'>) => {
    let place = chat
    if (!place) {
      const made = await begin.mutateAsync(asked.content)
      client.setQueryData(messagesQuery(made.id).queryKey, [])
      place = made.id
      onBegun(place)
    }
    toEnd()
    void ask(client, { ...asked, model, chat: place, workspace })
  }
  const send = async (content: string) => {
    const { capsules } = attached
    setText('')
    attached.clear()
    try {
      await say({ content, mode, capsules, without })
    } catch {
      setText(content) // begin has said why
    }
  }
  const instead = (message: Message, content: string, but = without) =>
    void say({ content, mode: turn?.mode ?? mode, capsules: [], without: but, insteadOf: message })
  const last = all.at(-1)
  const asked = all.findLast((message) => message.role === 'user')
  const broken = last?.role === 'assistant' && last.metadata.incomplete !== undefined
  const again = (content: string) => {
    if (broken && last) instead(last, content)
    else void say({ content, mode: turn?.mode ?? mode, capsules: turn?.capsules ?? [], without })
  }
  const leaveOut = (answer: Message) => (memory: LeftOutMemory) => {
    const next = [...out.filter((one) => one.id !== memory.id), memory]
    setOut(next)
    instead(
      answer,
      '',
      next.map((one) => one.id),
    )
  }
  const save = useCallback(
    (message: Message) =>
      setDraft({
        content_md: message.content,
        kind: message.role === 'user' ? 'thought' : 'answer',
        source: { chat_id: chat, message_id: message.id },
      }),
    [chat],
  )
  const pending = turn && !turn.said && turn.insteadOf?.role !== 'assistant' // asked, and not yet kept
  const unanswered = !turn && (last?.role === 'user' || broken) && models.connected
  return (
    <div className={classes.column}>
      <div className={classes.scroll} ref={box} onScroll={onScroll}>
        <div className={classes.inside} role="log" aria-label={words('conversation')}>
          {chat && messages.isPending && <Skeletons lines={4} height={72} />}
          {messages.isError && <Failed error={messages.error} retry={() => messages.refetch()} />}
          {(!chat || (messages.data?.length === 0 && !turn)) && !models.pending && (
            <div className={classes.middle}>
              {models.connected ? (
                <Start workspace={workspace} onStart={(start) => void send(start)} />
              ) : (
                <NoModel />
              )}
            </div>
          )}
          {all.length > visible.length && (
            <Button variant="subtle" size="compact-sm" onClick={() => setShown(shown + SHOWN)}>
              {words('earlier')}
            </Button>
          )}
          {visible.map((message) => (
            <MessageItem
              key={message.id}
              message={message}
              chat={chat ?? ''}
              workspace={workspace}
              own={message.user_id === me}
              onSave={save}
              onInstead={busy || !models.connected ? undefined : instead}
            >
              {message.role === 'user' && (
                <CapsuleChips
                  capsules={used[message.id]?.capsules ?? []}
                  onOpen={(id) => go(`/dashboard/recall?capsule=${id}`)}
                />
              )}
              <Did
                message={message}
                memories={memories.isFetching ? undefined : memories.data}
                workspace={workspace}
                linkTo={linkTo}
                without={without}
                onLeaveOut={busy ? undefined : leaveOut(message)}
              />
            </MessageItem>
          ))}
          {pending && <Bubble mine name={words('me')} text={turn.content} />}
          {turn && (
            <Outcome
              turn={broken && !busy ? { ...turn, text: '' } : turn} // then it is among the messages
              used={used[turn.said ?? '']?.memories ?? []}
              onAgain={() => again(turn.content)}
            />
          )}
          {unanswered && asked && (
            <div>
              <Text size="sm" c="dimmed" component="span" mr="sm">
                {words(broken ? 'stopped' : 'unanswered')}
              </Text>
              <Button
                size="compact-sm"
                variant="light"
                leftSection={<IconRefresh size={14} stroke={1.8} aria-hidden />}
                onClick={() => again(asked.content)}
              >
                {words('again')}
              </Button>
            </div>
          )}
        </div>
      </div>
      <div className={classes.foot}>
        <div className={classes.anchor}>
          {away && (
            <Button
              className={classes.newest}
              size="compact-sm"
              variant="default"
              radius="xl"
              leftSection={<IconArrowDown size={14} stroke={1.8} aria-hidden />}
              onClick={toEnd}
            >
              {said('newest')}
            </Button>
          )}
        </div>
        <LeftOut memories={out} onTakeBack={(id) => setOut(out.filter((one) => one.id !== id))} />
        <Related text={text} picked={attached.ids} onPick={attached.toggle} />
        <CapsuleChips capsules={attached.capsules} onRemove={attached.remove} />
        <Composer
          value={text}
          onChange={setText}
          onSend={() => void send(text)}
          onStop={() => chat && stop(chat)}
          busy={busy || begin.isPending}
          label={words('message')}
          placeholder={words(models.connected ? 'placeholder' : 'placeholderNoModel')}
          tools={
            <>
              <AttachAction picked={attached.ids} onPick={attached.toggle} />
              {models.connected && <ModeSelect mode={mode} onChange={onMode} />}
              {models.connected && <ModelPicker value={model} onChange={setModel} width={170} />}
            </>
          }
        />
      </div>
      <SaveSheet draft={draft} onClose={() => setDraft(null)} />
    </div>
  )
}

function titleOf(content: string): string {
  const line = content.trim().split('\n')[0] ?? ''
  const letters = [...line]
  return letters.length > TITLE ? `${letters.slice(0, TITLE).join('').trim()}…` : line
}
