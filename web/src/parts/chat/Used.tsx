import { Anchor, Collapse, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconBookmark, IconChevronDown, IconRefresh } from '@tabler/icons-react'
import { useQueries } from '@tanstack/react-query'
import { useId } from 'react'
import { Link } from 'react-router'
import { ApiError, api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Action } from './Action'
import { useChatWords } from './chat.words'
import classes from './Used.module.css'
import type { Message } from './workspace'

export type UsedMemory = { id: string; content?: string; relevance?: number }

/** What an answer says was put before the model or looked up by it, the most relevant first. */
export function lookedUp(answer: Message | undefined): UsedMemory[] {
  const found = answer?.metadata.looked_up
  if (found && typeof found === 'object')
    return Object.entries(found as Record<string, number>)
      .map(([id, relevance]) => ({ id, relevance }))
      .sort((one, other) => other.relevance - one.relevance)
  const ids = answer?.metadata.injected
  return Array.isArray(ids) ? ids.map((id) => ({ id: String(id) })) : []
}

/** A quiet line: how many memories were put before the model. It opens to what they say. */
export function Used({
  memories,
  workspace,
  without,
  linkTo,
  onLeaveOut,
}: {
  memories: UsedMemory[]
  workspace: string
  without?: string[]
  linkTo?: (memory: string) => string
  onLeaveOut?: (memory: { id: string; content: string }) => void
}) {
  const words = useChatWords()
  const format = useFormat()
  const list = useId()
  const [opened, { toggle }] = useDisclosure()
  const found = useQueries({
    queries: memories.map((one) => ({
      queryKey: ['workspace', workspace, 'memory', one.id],
      queryFn: () => remembered(workspace, one.id),
      enabled: opened && one.content === undefined,
    })),
  })
  if (memories.length === 0) return null
  return (
    <>
      <UnstyledButton className={classes.line} onClick={toggle} aria-expanded={opened} aria-controls={list}>
        <IconBookmark size={13} stroke={1.8} aria-hidden />
        {words('used', { count: memories.length })}
        <IconChevronDown size={13} stroke={1.8} aria-hidden />
      </UnstyledButton>
      <Collapse expanded={opened} id={list} w="100%" maw={620}>
        <ul className={classes.list}>
          {memories.map((one, place) => {
            const content = one.content ?? found[place]?.data
            return (
              <li key={one.id}>
                <div className={classes.text}>
                  <Text size="sm" lineClamp={4} c={content === null ? 'dimmed' : undefined}>
                    {content === null ? words('gone') : (content ?? '…')}
                  </Text>
                  {linkTo && content && (
                    <Anchor component={Link} to={linkTo(one.id)} size="xs" mr={8}>
                      {words('openMemory')}
                    </Anchor>
                  )}
                  {one.relevance !== undefined && (
                    <Text size="xs" c="dimmed" component="span">
                      {words('relevance', { percent: format.percent(one.relevance) })}
                    </Text>
                  )}
                </div>
                {onLeaveOut &&
                  content &&
                  (without?.includes(one.id) ? (
                    <Text size="xs" c="dimmed">
                      {words('leftOut')}
                    </Text>
                  ) : (
                    <Action
                      icon={IconRefresh}
                      label={words('leaveOut')}
                      onClick={() => onLeaveOut({ id: one.id, content })}
                    />
                  ))}
              </li>
            )
          })}
        </ul>
      </Collapse>
    </>
  )
}

/** What a memory says now; null when it is no longer there. */
async function remembered(workspace_id: string, memory_id: string): Promise<string | null> {
  try {
    const path = { workspace_id, memory_id }
    return (
      await ok(api.GET('/chat/api/workspaces/{workspace_id}/memories/{memory_id}', { params: { path } }))
    ).content
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}
