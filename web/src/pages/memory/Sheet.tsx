import { ActionIcon, Anchor, Button, Stack, Text, Title } from '@mantine/core'
import { IconExternalLink, IconPencil, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'react-router'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Aside } from '@/parts/Aside'
import { Failed } from '@/parts/Failed'
import { Markdown } from '@/parts/Markdown'
import { offerUndo } from '@/parts/offerUndo'
import { Skeletons } from '@/parts/Skeletons'
import { linkTo, useWhere } from '@/parts/things/things'
import { useThingWords } from '@/parts/things/things.words'
import { failed } from '@/parts/told'
import { Editing } from './Editing'
import { useNames } from './Filters'
import { History } from './History'
import classes from './Memory.module.css'
import { useMemoryWords } from './memory.words'
import { SHELF, useMemoryPlace, useWhole, type Whole } from './place'
import { headOf } from './Rows'
import { remove } from './ways'

const ICON = { size: 18, stroke: 1.6, 'aria-hidden': true } as const

/** One memory beside the list: all of it, where it came from, what it was, and its corrections in place. */
export function Sheet() {
  const things = useThingWords()
  const words = useMemoryWords()
  const place = useMemoryPlace()
  const found = useWhole(place.memory)
  const [editing, setEditing] = useState('')
  const memory = found.data
  const close = () => place.set({ memory: null })
  const removing = useDelete(close)
  const page = memory && linkTo(memory.kind, memory.id, memory.place)
  return (
    <Aside
      opened={place.memory !== ''}
      onClose={close}
      title={memory ? things(memory.kind) : words('title')}
      actions={
        memory && (
          <>
            {!page?.startsWith('/dashboard/memory') && (
              <ActionIcon
                component={Link}
                to={page ?? ''}
                variant="subtle"
                color="gray"
                aria-label={words('open')}
                title={words('open')}
              >
                <IconExternalLink {...ICON} />
              </ActionIcon>
            )}
            {memory.changeable && (
              <>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={words('edit')}
                  title={words('edit')}
                  onClick={() => setEditing(memory.id)}
                >
                  <IconPencil {...ICON} />
                </ActionIcon>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={words('delete')}
                  title={words('delete')}
                  loading={removing.isPending}
                  onClick={() => removing.mutate(memory)}
                >
                  <IconTrash {...ICON} />
                </ActionIcon>
              </>
            )}
          </>
        )
      }
    >
      {found.error ? (
        <Failed error={found.error} retry={found.refetch} />
      ) : !memory ? (
        <Skeletons lines={4} height={48} />
      ) : editing === memory.id ? (
        <Editing memory={memory} onDone={() => setEditing('')} />
      ) : (
        <Reading memory={memory} />
      )}
    </Aside>
  )
}

function Reading({ memory }: { memory: Whole }) {
  const words = useMemoryWords()
  const format = useFormat()
  const named = useNames()
  const whereOf = useWhere()
  const facts: [string, ReactNode][] = [
    [words('where'), whereOf(memory.place)],
    [words('whose'), memory.user && named('user', memory.user, memory.user_name)],
    [words('agent'), memory.agent],
    [words('how'), words(memory.source)],
    [words('namespace'), memory.namespace?.join(' / ')],
    [words('key'), memory.key],
    [words('tags'), memory.tags.map((tag) => `#${tag}`).join(' ')],
    [words('made'), format.minute(memory.created_at)],
    [words('changed'), memory.updated_at !== memory.created_at && format.minute(memory.updated_at)],
  ]
  return (
    <Stack gap="lg">
      {memory.title && (
        <Title order={3} size="h4">
          {memory.title}
        </Title>
      )}
      {memory.kind === 'item' ? (
        <pre className={classes.code}>
          <code>{pretty(memory.text)}</code>
        </pre>
      ) : memory.kind === 'capsule' ? (
        <Markdown text={memory.text} />
      ) : (
        <p className={classes.plain}>{memory.text}</p>
      )}
      <dl className={classes.about}>
        {facts.map(
          ([name, value]) =>
            value && (
              <div key={name} style={{ display: 'contents' }}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
      {(memory.said || memory.chat_title) && <Said memory={memory} />}
      {memory.superseded_by && <Others name={words('supersededBy')} others={[memory.superseded_by]} />}
      {memory.supersedes.length > 0 && <Others name={words('supersedes')} others={memory.supersedes} />}
      <History memory={memory} />
    </Stack>
  )
}

/** The words that it was taken from, and the way there. */
function Said({ memory }: { memory: Whole }) {
  const words = useMemoryWords()
  const format = useFormat()
  const { said, chat_id, chat_title } = memory
  const to =
    chat_id && chat_title
      ? `/dashboard/playground/${chat_id}`
      : memory.place && ['room', 'dm'].includes(memory.place.kind)
        ? linkTo('message', said?.id ?? '', memory.place)
        : null
  return (
    <section>
      <Title order={3} size="h5" mb="xs">
        {words('quoted')}
      </Title>
      {said && (
        <>
          <blockquote className={classes.quote}>{said.text}</blockquote>
          <Text size="xs" c="dimmed" mt={4}>
            {said.speaker} · {format.minute(said.at)}
          </Text>
        </>
      )}
      {to && (
        <Anchor component={Link} to={to} size="sm">
          {chat_title || words('goThere')}
        </Anchor>
      )}
    </section>
  )
}

function Others({ name, others }: { name: string; others: Whole['supersedes'] }) {
  const place = useMemoryPlace()
  return (
    <section>
      <Title order={3} size="h5" mb="xs">
        {name}
      </Title>
      <Stack gap="xs">
        {others.map((one) => (
          <Button
            key={one.id}
            component={Link}
            to={place.with({ memory: one.id })}
            preventScrollReset
            variant="default"
            justify="flex-start"
            fw={400}
          >
            {one.text}
          </Button>
        ))}
      </Stack>
    </section>
  )
}

/** Into the trash, with a way back for as long as the notice stands. */
function useDelete(onDone: () => void) {
  const words = useMemoryWords()
  const client = useQueryClient()
  const refresh = () => client.invalidateQueries({ queryKey: SHELF })
  return useMutation({
    mutationFn: async (memory: Whole) => {
      // What is still being asked of it would come back as not found.
      await client.cancelQueries({ queryKey: [...SHELF, 'one', memory.id] })
      return remove(memory)
    },
    onError: failed,
    onSuccess: async (_, memory) => {
      onDone()
      const undo = async () => {
        try {
          await ok(
            api.POST('/v1/trash/restore', { body: { items: [{ kind: memory.kind, id: memory.id }] } }),
          ).then(({ items }) => items[0]?.restored || failed(new Error(items[0]?.message ?? '')))
          await refresh()
        } catch (error) {
          failed(error as Error)
        }
      }
      offerUndo(words('isDeleted', { text: headOf(memory).slice(0, 60) }), words('undo'), () => void undo())
      client.removeQueries({ queryKey: [...SHELF, 'one', memory.id] })
      await refresh()
    },
  })
}

export function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
