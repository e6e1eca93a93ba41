import { Button, Group, Kbd, Modal, Progress, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useKeys } from '@/app/keys/keys'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Markdown } from '@/parts/Markdown'
import { Skeletons } from '@/parts/Skeletons'
import classes from './Curator.module.css'
import { CuratorSource, type Source } from './CuratorSource'
import { useCapsuleWords } from './capsules.words'
import { REASONS, useCuratorWords } from './curator.words'
import { Fields, type Written } from './Fields'
import { KindIcon } from './KindIcon'
import { useKinds } from './kinds'
import { refresh } from './queries'
import { Refusal } from './Refusal'

type Segment = Schema<'SegmentOut'>
const MOST = 1_000 // messages a call takes

/** What of a conversation is worth keeping, one after another, in a window. With `chat` it is of that one. */
export function CuratorDialog({
  opened,
  onClose,
  chat,
}: {
  opened: boolean
  onClose: () => void
  chat?: string
}) {
  const words = useCuratorWords()
  const [source, setSource] = useState<Source | null>(null)
  const close = () => {
    setSource(null)
    onClose()
  }
  return (
    <Modal opened={opened} onClose={close} title={words('title')} size="lg">
      {opened &&
        (source ? (
          <Curator source={source} onDone={close} onOther={chat ? undefined : () => setSource(null)} />
        ) : (
          <CuratorSource chat={chat} onChosen={setSource} />
        ))}
    </Modal>
  )
}

/** The review: keep, edit or skip. Nothing is kept by itself. */
export function Curator({
  source,
  onDone,
  onOther,
}: {
  source: Source
  onDone: () => void
  onOther?: () => void
}) {
  const words = useCuratorWords()
  const messages = source.messages.slice(-MOST)
  const found = useQuery({
    queryKey: ['curated', source.chat, messages],
    queryFn: () =>
      ok(
        api.POST('/v1/memory/capsules/curate', {
          body: {
            messages: messages.map(({ role, speaker, content }) => ({ role, speaker, content })),
            refine: true,
          },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const [at, setAt] = useState(0)
  const [kept, setKept] = useState(0)
  if (found.isPending) return <Skeletons lines={3} height={64} />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const { segments } = found.data
  const segment = segments[at]
  if (!segment) {
    return (
      <Empty
        title={segments.length === 0 ? words('nothing') : words('done', { count: kept })}
        action={
          <Group gap="xs">
            {onOther && (
              <Button variant="default" onClick={onOther}>
                {words('other')}
              </Button>
            )}
            <Button onClick={onDone} data-autofocus>
              {words('close')}
            </Button>
          </Group>
        }
      >
        {segments.length === 0 ? words('nothingText') : words('doneText')}
      </Empty>
    )
  }
  return (
    <Stack gap="md">
      <div aria-live="polite">
        <Text fw={600}>{words('worth', { count: segments.length })}</Text>
        <Text size="sm" c="dimmed">
          {words('at', { number: at + 1, count: segments.length })}
        </Text>
      </div>
      <Progress
        value={(at / segments.length) * 100}
        size="xs"
        aria-label={words('at', { number: at + 1, count: segments.length })}
      />
      <One
        key={at}
        segment={segment}
        source={{ chat_id: source.chat, message_id: messages[segment.messages[0] ?? -1]?.id }}
        onKept={() => {
          setKept(kept + 1)
          setAt(at + 1)
        }}
        onSkip={() => setAt(at + 1)}
      />
    </Stack>
  )
}

function One({
  segment,
  source,
  onKept,
  onSkip,
}: {
  segment: Segment
  source: { chat_id?: string; message_id?: string }
  onKept: () => void
  onSkip: () => void
}) {
  const words = useCuratorWords()
  const common = useCapsuleWords()
  const kinds = useKinds()
  const client = useQueryClient()
  const [editing, setEditing] = useState(false)
  const [written, setWritten] = useState<Written>({
    title: segment.title,
    content_md: segment.text,
    kind: segment.kind,
    tags: segment.tags,
    project_id: null,
  })
  const keeping = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/v1/memory/capsules', {
          body: {
            ...written,
            title: written.title.trim() || undefined,
            kind: written.kind || 'note',
            source: source.chat_id ? source : undefined,
          },
        }),
      ),
    onSuccess: async () => {
      onKept()
      await refresh(client)
    },
    meta: { quiet: true },
  })
  const because = ({ code, phrase }: Schema<'ReasonOut'>) =>
    code in REASONS ? words(code as keyof typeof REASONS) : phrase
  const keep = () => {
    if (!keeping.isPending && written.content_md.trim()) keeping.mutate()
  }
  useKeys({ k: keep, e: () => setEditing(true), s: onSkip }, { inDialog: true })
  return (
    <>
      {editing ? (
        <Fields value={written} onChange={setWritten} />
      ) : (
        <article className={classes.card} aria-label={written.title}>
          <Group gap={8} wrap="nowrap" align="flex-start">
            <span className={classes.kind} title={kinds.label(written.kind)}>
              <KindIcon kind={written.kind} size={18} />
            </span>
            <Text fw={600}>{written.title}</Text>
          </Group>
          <div className={classes.text}>
            <Markdown text={written.content_md} />
          </div>
          <ul className={classes.reasons} aria-label={words('why')}>
            {segment.reasons.map((reason) => (
              <li key={reason.code}>{because(reason)}</li>
            ))}
          </ul>
          {written.tags.length > 0 && (
            <Text size="xs" c="dimmed">
              {written.tags.map((tag) => `#${tag}`).join(' ')}
            </Text>
          )}
        </article>
      )}
      {keeping.error && <Refusal error={keeping.error} />}
      <Group justify="space-between" gap="xs">
        <Button
          variant="default"
          onClick={onSkip}
          rightSection={<Kbd size="xs">S</Kbd>}
          aria-keyshortcuts="S"
        >
          {words('skip')}
        </Button>
        <Group gap="xs">
          {!editing && (
            <Button
              variant="default"
              onClick={() => setEditing(true)}
              rightSection={<Kbd size="xs">E</Kbd>}
              aria-keyshortcuts="E"
            >
              {words('edit')}
            </Button>
          )}
          <Button
            onClick={keep}
            loading={keeping.isPending}
            disabled={!written.content_md.trim()}
            rightSection={editing ? undefined : <Kbd size="xs">K</Kbd>}
            aria-keyshortcuts="K"
            data-autofocus
          >
            {editing ? common('save') : words('keep')}
          </Button>
        </Group>
      </Group>
    </>
  )
}
