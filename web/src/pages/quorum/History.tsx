import { Button, Text } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from 'react-router'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Action } from '@/parts/chat/Action'
import { useChatWords } from '@/parts/chat/chat.words'
import { Failed } from '@/parts/Failed'
import { offerUndo } from '@/parts/offerUndo'
import { Skeletons } from '@/parts/Skeletons'
import classes from './Quorum.module.css'
import { useQuorumWords } from './quorum.words'

export const historyKey = ['quorums']

/** Questions that were asked before, those first in which something was said last. */
export function History({ here, onNew }: { here: string | undefined; onNew: (gone?: boolean) => void }) {
  const words = useQuorumWords()
  const found = useInfiniteQuery({
    queryKey: historyKey,
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/chat/api/chats', {
          params: { query: { kind: 'quorum', order: 'activity', limit: 50, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <nav className={classes.history} aria-label={words('history')}>
      <Button
        variant="light"
        flex="none"
        leftSection={<IconPlus size={16} stroke={1.8} aria-hidden />}
        onClick={() => onNew()}
      >
        {words('fresh')}
      </Button>
      <div className={classes.list}>
        {found.isPending && <Skeletons lines={5} height={44} />}
        {found.isError && <Failed error={found.error} retry={() => found.refetch()} />}
        {found.isSuccess && items.length === 0 && (
          <Text size="sm" c="dimmed" p="xs">
            {words('noHistory')}
          </Text>
        )}
        {items.map((one) => (
          <Row
            key={one.id}
            quorum={one}
            here={one.id === here}
            onGone={() => one.id === here && onNew(true)}
          />
        ))}
        {found.hasNextPage && (
          <Button variant="subtle" size="compact-sm" fullWidth onClick={() => found.fetchNextPage()}>
            {words('more')}
          </Button>
        )}
      </div>
    </nav>
  )
}

function Row({ quorum, here, onGone }: { quorum: Schema<'ChatOut'>; here: boolean; onGone: () => void }) {
  const words = useQuorumWords()
  const said = useChatWords()
  const format = useFormat()
  const client = useQueryClient()
  const both = [quorum.id, ...(quorum.beside ? [quorum.beside] : [])]
  const refresh = () => client.invalidateQueries({ queryKey: historyKey })
  const restore = useMutation({
    mutationFn: () =>
      Promise.all(
        both.map((chat_id) =>
          ok(api.POST('/chat/api/chats/{chat_id}/restore', { params: { path: { chat_id } } })),
        ),
      ),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () =>
      Promise.all(
        both.map((chat_id) => ok(api.DELETE('/chat/api/chats/{chat_id}', { params: { path: { chat_id } } }))),
      ),
    onSuccess: () => {
      onGone()
      offerUndo(words('deleted', { title: quorum.title }), said('undo'), () => restore.mutate())
      return refresh()
    },
  })
  return (
    <div className={here ? `${classes.row} ${classes.here}` : classes.row}>
      <Link
        to={`/dashboard/quorum?left=${quorum.beside}&right=${quorum.id}`}
        className={classes.open}
        data-row
        aria-current={here ? 'page' : undefined}
      >
        <Text size="sm" truncate title={quorum.title}>
          {quorum.title}
        </Text>
        <Text size="xs" c="dimmed" component="time" dateTime={quorum.updated_at}>
          {format.minute(quorum.updated_at)}
        </Text>
      </Link>
      <Action
        icon={IconTrash}
        label={words('deleteNamed', { title: quorum.title })}
        busy={remove.isPending}
        onClick={() => remove.mutate()}
      />
    </div>
  )
}
