import { SegmentedControl } from '@mantine/core'
import { useLocalStorage, useMediaQuery } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, ok } from '@/api/client'
import { CapsuleChips } from '@/parts/capsules/CapsuleChips'
import { type CapsuleDraft, SaveSheet } from '@/parts/capsules/SaveSheet'
import { AttachAction } from '@/parts/chat/AttachAction'
import { useAttached } from '@/parts/chat/attached'
import { Composer } from '@/parts/chat/Composer'
import { useModels } from '@/parts/chat/models'
import { Related } from '@/parts/chat/Related'
import { chatsKey } from '@/parts/chat/workspace'
import { type Exchange, usePane } from './exchanges'
import { notesOf } from './notes'
import { Pane } from './Pane'
import classes from './Quorum.module.css'
import { useQuorumWords } from './quorum.words'

const TITLE = 50

export type Chats = { left?: string; right?: string }

/** Two conversations that are asked the same. */
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
  const { names } = useModels()
  const narrow = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false })
  const [chosen, setChosen] = useLocalStorage({
    key: 'keepstone.quorum.models',
    defaultValue: { left: '', right: '' },
    getInitialValueInEffect: false,
  })
  const models = { left: chosen.left || names[0] || '', right: chosen.right || names[1] || names[0] || '' }
  const [typing, setTyping] = useState<Partial<typeof models>>({})
  const [shown, setShown] = useState<'left' | 'right'>('left')
  const [text, setText] = useState('')
  const [draft, setDraft] = useState<CapsuleDraft | null>(null)
  const attached = useAttached()
  const [notes, setNotes] = useState('')
  const panes = { left: usePane(before.left), right: usePane(before.right) }

  const busy = panes.left.busy || panes.right.busy
  // What was said here is news to the playground, and to this page when one comes back to it.
  useEffect(() => {
    if (busy) return
    for (const id of [chats.left, chats.right]) void client.invalidateQueries({ queryKey: ['chat', id] })
    void client.invalidateQueries({ queryKey: chatsKey(workspace) })
  }, [busy, chats.left, chats.right, client, workspace])

  const prepare = useMutation({
    mutationFn: async (question: string) => {
      const added = await notesOf(client, attached.capsules)
      if (!memory || chats.left) return { added, places: chats }
      const begin = (model: string) =>
        ok(
          api.POST('/chat/api/chats', {
            body: { title: titleOf(question, model), workspace_id: workspace },
          }),
        )
      const [left, right] = await Promise.all([begin(models.left), begin(models.right)])
      onBegun({ left: left.id, right: right.id })
      return { added, places: { left: left.id, right: right.id } as Chats }
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
      for (const side of ['left', 'right'] as const) {
        panes[side].ask({
          question,
          capsules,
          notes: all,
          model: models[side],
          memory,
          chat: places[side],
          workspace,
        })
      }
    } catch {
      setText(question) // what was wrong has been said
    }
  }
  const choose = (side: 'left' | 'right') => (name: string) => {
    setTyping({ ...typing, [side]: name })
    setChosen({ ...models, [side]: name })
  }
  const save = (side: 'left' | 'right') => (one: Exchange) => {
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
  const pane = (side: 'left' | 'right') => (
    <Pane
      label={words(side)}
      model={typing[side] ?? models[side]}
      names={names}
      exchanges={panes[side].exchanges}
      workspace={workspace}
      hidden={Boolean(narrow) && shown !== side}
      onModel={choose(side)}
      onSave={save(side)}
      onAgain={() => panes[side].again({ model: models[side], memory, chat: chats[side], workspace })}
    />
  )
  return (
    <>
      {narrow && (
        <SegmentedControl
          mx={10}
          mb={8}
          aria-label={words('panes')}
          value={shown}
          onChange={(side) => setShown(side as 'left' | 'right')}
          data={(['left', 'right'] as const).map((side) => ({
            value: side,
            label: models[side] || words(side),
          }))}
        />
      )}
      <div className={narrow ? `${classes.panes} ${classes.one}` : classes.panes}>
        {pane('left')}
        {pane('right')}
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
    </>
  )
}

function titleOf(question: string, model: string): string {
  const letters = [...(question.trim().split('\n')[0] ?? '')]
  const short = letters.length > TITLE ? `${letters.slice(0, TITLE).join('').trim()}…` : letters.join('')
  return model ? `${short} · ${model}` : short
}
