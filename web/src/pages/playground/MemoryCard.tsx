import { Anchor, Badge, Button, Group, Text, Textarea } from '@mantine/core'
import { IconPencil, IconSparkles, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Action } from '@/parts/chat/Action'
import { useChatWords } from '@/parts/chat/chat.words'
import { type Memory, memoriesKey, workspacesQuery } from '@/parts/chat/workspace'
import { offerUndo } from '@/parts/offerUndo'
import { usePlaygroundWords } from './playground.words'
import classes from './Side.module.css'

const LONG = 320 // characters, about as many as the lines hold
const LINES = 7
const SOURCES = ['user', 'model', 'auto_deep_think', 'auto_research', 'auto_compaction'] as const

export type ShownMemory = Pick<Memory, 'id' | 'content' | 'category'> &
  Partial<Pick<Memory, 'source_type' | 'created_at' | 'superseded_by'>>

/** One memory: what it says, where it comes from; edited in place. `children` stand for the text where it was found,
 * `newer` is what took its place. */
export function MemoryCard({
  memory,
  newer,
  workspace,
  fresh = false,
  mayChange,
  children,
}: {
  memory: ShownMemory
  newer?: string
  workspace: string
  fresh?: boolean
  mayChange: boolean
  children?: ReactNode
}) {
  const words = usePlaygroundWords()
  const said = useChatWords()
  const format = useFormat()
  const client = useQueryClient()
  const [edited, setEdited] = useState<string>()
  const [whole, setWhole] = useState(false)
  const long = memory.content.length > LONG || memory.content.split('\n').length > LINES
  const params = { path: { workspace_id: workspace, memory_id: memory.id } }
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: memoriesKey(workspace) }),
      client.invalidateQueries({ queryKey: ['workspace', workspace, 'memory'] }),
      client.invalidateQueries({ queryKey: workspacesQuery.queryKey }),
    ])
  const update = useMutation({
    mutationFn: (content: string) =>
      ok(
        api.PATCH('/chat/api/workspaces/{workspace_id}/memories/{memory_id}', {
          params,
          body: { content },
        }),
      ),
    onSuccess: async () => {
      await refresh()
      setEdited(undefined)
    },
  })
  // As it is now, and all of it: what a search found may be a part.
  const edit = useMutation({
    mutationFn: () => ok(api.GET('/chat/api/workspaces/{workspace_id}/memories/{memory_id}', { params })),
    onSuccess: (now) => setEdited(now.content),
  })
  const restore = useMutation({
    mutationFn: () =>
      ok(api.POST('/chat/api/workspaces/{workspace_id}/memories/{memory_id}/restore', { params })),
    onSuccess: refresh,
  })
  const revive = useMutation({
    mutationFn: () =>
      ok(api.POST('/chat/api/workspaces/{workspace_id}/memories/{memory_id}/revive', { params })),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () => ok(api.DELETE('/chat/api/workspaces/{workspace_id}/memories/{memory_id}', { params })),
    onSuccess: () => {
      offerUndo(words('memoryDeleted'), said('undo'), () => restore.mutate())
      return refresh()
    },
  })
  const known = SOURCES.find((one) => one === memory.source_type)
  const source = known
    ? words(`source_${known}`)
    : memory.source_type && words('source_elsewhere', { source: memory.source_type })
  return (
    <article className={fresh ? `${classes.card} ${classes.fresh}` : classes.card}>
      {edited === undefined ? (
        <>
          <Text
            size="sm"
            className={classes.content}
            component="div"
            lineClamp={long && !whole ? LINES : undefined}
          >
            {children ?? memory.content}
          </Text>
          {long && (
            <Anchor component="button" className={classes.all} onClick={() => setWhole(!whole)}>
              {words(whole ? 'showLess' : 'showAll')}
            </Anchor>
          )}
        </>
      ) : (
        <>
          <Textarea
            aria-label={words('memoryText')}
            value={edited}
            onChange={(event) => setEdited(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Escape' && setEdited(undefined)}
            autosize
            minRows={2}
            maxRows={12}
            autoFocus
          />
          <Group gap="xs" mt="xs" justify="flex-end">
            <Button size="compact-sm" variant="default" onClick={() => setEdited(undefined)}>
              {words('cancel')}
            </Button>
            <Button
              size="compact-sm"
              loading={update.isPending}
              disabled={edited.trim() === ''}
              onClick={() => update.mutate(edited.trim())}
            >
              {words('save')}
            </Button>
          </Group>
        </>
      )}
      <div className={classes.meta}>
        {fresh && <Badge size="xs">{words('fresh')}</Badge>}
        {memory.category && <span>{memory.category}</span>}
        {source && (
          <span>
            {memory.source_type !== 'user' && <IconSparkles size={12} stroke={1.8} aria-hidden />} {source}
          </span>
        )}
        {memory.created_at && <time dateTime={memory.created_at}>{format.day(memory.created_at)}</time>}
        {memory.superseded_by && <span>{words('supersededBy', { text: newer?.slice(0, 80) ?? '…' })}</span>}
        {memory.superseded_by && mayChange && (
          <Button
            size="compact-xs"
            variant="light"
            loading={revive.isPending}
            onClick={() => revive.mutate()}
          >
            {said('undo')}
          </Button>
        )}
        {edited === undefined && mayChange && (
          <span className={classes.buttons}>
            <Action
              icon={IconPencil}
              label={words('editMemory')}
              busy={edit.isPending}
              onClick={() => edit.mutate()}
            />
            <Action
              icon={IconTrash}
              label={words('deleteMemory')}
              busy={remove.isPending}
              onClick={() => remove.mutate()}
            />
          </span>
        )}
      </div>
    </article>
  )
}
