import { UnstyledButton } from '@mantine/core'
import { IconArrowUpRight } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { memoriesKey } from '@/parts/chat/workspace'
import { Empty } from '@/parts/Empty'
import classes from './Conversation.module.css'
import { usePlaygroundWords } from './playground.words'

const LONGEST = 110

/** A chat in which nothing was said yet: what one could ask, out of what this workspace remembers. */
export function Start({ workspace, onStart }: { workspace: string; onStart: (text: string) => void }) {
  const words = usePlaygroundWords()
  const memories = useQuery({
    queryKey: [...memoriesKey(workspace), 'start'],
    queryFn: async () =>
      (
        await ok(
          api.GET('/chat/api/workspaces/{workspace_id}/memories', {
            params: { path: { workspace_id: workspace }, query: { limit: 2 } },
          }),
        )
      ).items,
  })
  const known = (memories.data ?? []).map((one) => words('startFrom', { text: short(one.content) }))
  const examples = [words('startRemember'), words('startPlan'), words('startKnow')]
  const offered = memories.data?.length ? [words('startKnow'), ...known] : examples
  return (
    <Empty title={words('startTitle')}>
      {words('start')}
      <ul className={classes.starts} aria-label={words('starts')}>
        {(memories.isPending ? [] : [...new Set([...offered, ...examples])].slice(0, 3)).map((text) => (
          <li key={text}>
            <UnstyledButton className={classes.startWith} onClick={() => onStart(text)}>
              <span>{text}</span>
              <IconArrowUpRight size={16} stroke={1.6} aria-hidden />
            </UnstyledButton>
          </li>
        ))}
      </ul>
    </Empty>
  )
}

function short(text: string): string {
  const line = [...text.trim().replace(/\s+/g, ' ')]
  return line.length > LONGEST ? `${line.slice(0, LONGEST).join('').trim()}…` : line.join('')
}
