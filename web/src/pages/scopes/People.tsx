import { ActionIcon, Button, Group, Stack, Text, Textarea, Title } from '@mantine/core'
import { IconPencil, IconQuote, IconTrash } from '@tabler/icons-react'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { offerUndo } from '@/parts/offerUndo'
import { Skeletons } from '@/parts/Skeletons'
import { failed } from '@/parts/told'
import { useChanged } from './calls'
import { Face } from './Face'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'

type Statement = Schema<'StatementOut'>

const ICON = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

function useStatements(scope: string, deleted: boolean) {
  return useInfiniteQuery({
    queryKey: ['scopes', 'people', scope, deleted],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/v1/scopes/{scope_id}/people', {
          params: { path: { scope_id: scope }, query: { deleted, limit: 100, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
}

/** Who speaks in a scope and what is known of each, to be corrected, taken back and brought back. */
export function People({ scope, onOpen }: { scope: string; onOpen: (id: string) => void }) {
  const words = useScopesWords()
  const frame = useFrameWords()
  const changed = useChanged()
  const known = useStatements(scope, false)
  const gone = useStatements(scope, true)
  const path = (id: string) => ({ path: { scope_id: scope, statement_id: id } })
  const restore = useMutation({
    mutationFn: (id: string) =>
      ok(api.POST('/v1/scopes/{scope_id}/people/{statement_id}/restore', { params: path(id) })),
    onSettled: changed,
    onError: failed,
  })
  const remove = useMutation({
    mutationFn: (one: Statement) =>
      ok(api.DELETE('/v1/scopes/{scope_id}/people/{statement_id}', { params: path(one.id) })),
    onSuccess: (_, one) =>
      offerUndo(words('removed', { text: one.text }), words('restore'), () => restore.mutate(one.id)),
    onSettled: changed,
    onError: failed,
  })
  const correct = useMutation({
    mutationFn: ({ id, text }: { id: string; text: string }) =>
      ok(api.PATCH('/v1/scopes/{scope_id}/people/{statement_id}', { params: path(id), body: { text } })),
    onSettled: changed,
    onError: failed,
  })
  if (known.isPending) return <Skeletons lines={5} height={56} />
  if (known.isError) return <Failed error={known.error} retry={known.refetch} />
  const statements = known.data.pages.flatMap((page) => page.items)
  const removed = gone.data?.pages.flatMap((page) => page.items) ?? []
  const speakers = [...new Set(statements.map((one) => one.speaker))]
  return (
    <Stack gap="lg">
      <Text size="sm" c="dimmed">
        {words(speakers.length ? 'peopleAbout' : 'peopleNone')}
      </Text>
      {speakers.map((speaker) => (
        <section key={speaker} aria-label={speaker}>
          <Group gap="xs" mb={4}>
            <Face name={speaker} />
            <Title order={2} size="h5">
              {speaker}
            </Title>
          </Group>
          <ul className={classes.rows}>
            {statements
              .filter((one) => one.speaker === speaker)
              .map((one) => (
                <StatementRow
                  key={one.id}
                  one={one}
                  onOpen={onOpen}
                  onCorrect={(text) => correct.mutateAsync({ id: one.id, text })}
                  onRemove={() => remove.mutate(one)}
                />
              ))}
          </ul>
        </section>
      ))}
      {known.hasNextPage && (
        <Button variant="default" loading={known.isFetching} onClick={() => void known.fetchNextPage()}>
          {frame('more')}
        </Button>
      )}
      {removed.length > 0 && (
        <section aria-label={words('takenBack')}>
          <Title order={2} size="h5" mb={4}>
            {words('takenBack')}
          </Title>
          <ul className={classes.rows}>
            {removed.map((one) => (
              <li key={one.id} className={classes.statement}>
                <Text size="sm" c="dimmed" flex={1}>
                  {one.speaker}: {one.text}
                </Text>
                <Button size="compact-sm" variant="default" onClick={() => restore.mutate(one.id)}>
                  {words('restore')}
                </Button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Stack>
  )
}

function StatementRow({
  one,
  onOpen,
  onCorrect,
  onRemove,
}: {
  one: Statement
  onOpen: (id: string) => void
  onCorrect: (text: string) => Promise<unknown>
  onRemove: () => void
}) {
  const words = useScopesWords()
  const frame = useFrameWords()
  const format = useFormat()
  const [text, setText] = useState<string | null>(null)
  if (text !== null) {
    return (
      <li className={classes.statement}>
        <form
          className={classes.correct}
          onSubmit={(event) => {
            event.preventDefault()
            void onCorrect(text.trim()).then(
              () => setText(null),
              () => {},
            )
          }}
        >
          <Textarea
            aria-label={words('correct')}
            autosize
            autoFocus
            maxLength={2000}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <Group gap="xs" mt={6}>
            <Button type="submit" size="xs" disabled={!text.trim()}>
              {frame('save')}
            </Button>
            <Button size="xs" variant="default" onClick={() => setText(null)}>
              {frame('cancel')}
            </Button>
          </Group>
        </form>
      </li>
    )
  }
  return (
    <li className={classes.statement} data-row tabIndex={-1}>
      <div className={classes.statementText}>
        <Text size="sm">{one.text}</Text>
        <Text size="xs" c="dimmed">
          {format.day(one.message.ts)}
        </Text>
      </div>
      <Group gap={2} wrap="nowrap">
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={words('whereSaid', { text: one.text })}
          title={words('whereSaidShort')}
          onClick={() => onOpen(one.message.message_id)}
        >
          <IconQuote {...ICON} />
        </ActionIcon>
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={words('correctThis', { text: one.text })}
          title={words('correct')}
          onClick={() => setText(one.text)}
        >
          <IconPencil {...ICON} />
        </ActionIcon>
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={words('removeThis', { text: one.text })}
          title={words('remove')}
          onClick={onRemove}
        >
          <IconTrash {...ICON} />
        </ActionIcon>
      </Group>
    </li>
  )
}
