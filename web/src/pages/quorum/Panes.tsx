import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, ok } from '@/api/client'
import { CapsuleChips } from '@/parts/capsules/CapsuleChips'
import { type CapsuleDraft, SaveSheet } from '@/parts/capsules/SaveSheet'
import { AttachAction } from '@/parts/chat/AttachAction'
import { useAttached } from '@/parts/chat/attached'
import { Bubble } from '@/parts/chat/Bubble'
import { Composer } from '@/parts/chat/Composer'
import { useFollow } from '@/parts/chat/follow'
import { Related } from '@/parts/chat/Related'
import { ModelPicker, useLastModel } from '@/parts/ModelPicker'
import { useModelList } from '@/parts/modelList'
import { AnswerView } from './AnswerView'
import { type Exchange, usePane } from './exchanges'
import { historyKey } from './History'
import { notesOf } from './notes'
import classes from './Quorum.module.css'
import { useQuorumWords } from './quorum.words'

const TITLE = 60
const SIDES = ['left', 'right'] as const

export type Chats = { left?: string; right?: string }

/** Two conversations that are asked the same: each question once, and below it both answers side by side. */
export function Panes({
  chats,
  before,
  memory,
  workspace,
  onBegun,
}: {
  chats: Chats
  before: { left: Exchange[]; right: Exchange[] }
  memory: boolean
  workspace: string
  onBegun: (chats: Required<Chats>) => void
}) {
  const words = useQuorumWords()
  const client = useQueryClient()
  const { models: listed, usual } = useModelList()
  const [left, setLeft] = useLastModel('quorum.left')
  const [right, setRight] = useLastModel('quorum.right')
  const another = listed.find((one) => one.name !== (left || usual || listed[0]?.name))?.name ?? ''
  const models = { left, right: right || another }
  const choose = { left: setLeft, right: setRight }
  const [text, setText] = useState('')
  const [draft, setDraft] = useState<CapsuleDraft | null>(null)
  const attached = useAttached()
  const [notes, setNotes] = useState('')
  const panes = { left: usePane(before.left), right: usePane(before.right) }
  const lasts = SIDES.map((side) => panes[side].exchanges.at(-1))
  const { box, onScroll, toEnd } = useFollow(
    lasts.map((one) => `${one?.question} ${one?.phase} ${one?.answer.length}`).join(),
  )

  const busy = panes.left.busy || panes.right.busy
  // What was said here is news to this page when one comes back to it, and to its history.
  useEffect(() => {
    if (busy) return
    for (const id of [chats.left, chats.right]) void client.invalidateQueries({ queryKey: ['chat', id] })
    void client.invalidateQueries({ queryKey: historyKey })
  }, [busy, chats.left, chats.right, client])

  const prepare = useMutation({
    mutationFn: async (question: string) => {
      const added = await notesOf(client, attached.capsules)
      if (!memory || chats.left) return { added, places: chats }
      const begin = (beside?: string) =>
        ok(
          api.POST('/chat/api/chats', {
            body: { title: titleOf(question), workspace_id: workspace, kind: 'quorum', beside },
          }),
        )
      const first = await begin()
      const second = await begin(first.id)
      onBegun({ left: first.id, right: second.id })
      return { added, places: { left: first.id, right: second.id } as Chats }
    },
  })
  const send = async () => {
    const question = text
    const { capsules } = attached
    setText('')
    try {
      const { added, places } = await prepare.mutateAsync(question)
      const all = [notes, added].filter(Boolean).join('\n\n')
      setNotes(all)
      attached.clear()
      toEnd()
      for (const side of SIDES) {
        const chat = places[side]
        panes[side].ask({ question, capsules, notes: all, model: models[side], memory, chat, workspace })
      }
    } catch {
      setText(question) // what was wrong has been said
    }
  }
  const save = (side: 'left' | 'right', one: Exchange) => {
    const model = one.model || words('assistant')
    setDraft({
      kind: 'decision',
      tags: ['quorum'],
      content_md: [
        `**${words('capsuleQuestion')}**`,
        one.question,
        `**${words('capsuleAnswer', { model })}**`,
        one.answer,
      ].join('\n\n'),
      source: chats[side] ? { chat_id: chats[side] } : undefined,
    })
  }
  const rows = Math.max(panes.left.exchanges.length, panes.right.exchanges.length)
  return (
    <div className={classes.panes}>
      <div className={classes.models}>
        {SIDES.map((side) => (
          <ModelPicker
            key={side}
            label={words(side)}
            size="sm"
            width="100%"
            value={models[side]}
            onChange={choose[side]}
          />
        ))}
      </div>
      <div className={classes.scroll} ref={box} onScroll={onScroll}>
        <div role="log" aria-label={words('answers')}>
          {rows === 0 && (
            <Text c="dimmed" className={classes.nothing}>
              {words('answerHere')}
            </Text>
          )}
          {Array.from({ length: rows }, (_, place) => {
            const asked = panes.left.exchanges[place] ?? panes.right.exchanges[place]
            return (
              <div key={place} className={classes.exchange}>
                <div className={classes.question}>
                  <Bubble mine name={words('me')} text={asked?.question ?? ''}>
                    <CapsuleChips capsules={asked?.capsules ?? []} />
                  </Bubble>
                </div>
                {SIDES.map((side) => {
                  const one = panes[side].exchanges[place]
                  return one ? (
                    <AnswerView
                      key={side}
                      label={words(side)}
                      exchange={one}
                      workspace={workspace}
                      onSave={() => save(side, one)}
                      onAgain={
                        place === rows - 1
                          ? () =>
                              panes[side].again({ model: models[side], memory, chat: chats[side], workspace })
                          : undefined
                      }
                    />
                  ) : (
                    <div key={side} />
                  )
                })}
              </div>
            )
          })}
        </div>
      </div>
      <div className={classes.foot}>
        <Related text={text} picked={attached.ids} onPick={attached.toggle} />
        <CapsuleChips capsules={attached.capsules} onRemove={attached.remove} />
        <Composer
          value={text}
          onChange={setText}
          onSend={() => void send()}
          onStop={() => {
            panes.left.stop()
            panes.right.stop()
          }}
          busy={busy || prepare.isPending}
          label={words('question')}
          placeholder={words('placeholder')}
          tools={<AttachAction picked={attached.ids} onPick={attached.toggle} />}
        />
      </div>
      <SaveSheet draft={draft} onClose={() => setDraft(null)} />
    </div>
  )
}

function titleOf(question: string): string {
  const letters = [...(question.trim().split('\n')[0] ?? '')]
  return letters.length > TITLE ? `${letters.slice(0, TITLE).join('').trim()}…` : letters.join('')
}
