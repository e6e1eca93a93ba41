import { Anchor } from '@mantine/core'
import { IconBookmark } from '@tabler/icons-react'
import { Link } from 'react-router'
import { useChatWords } from '@/parts/chat/chat.words'
import { Spent, type Timing, type Usage } from '@/parts/chat/Spent'
import { lookedUp, Used } from '@/parts/chat/Used'
import type { Memory, Message } from '@/parts/chat/workspace'
import { TraceLink } from '@/parts/TraceLink'
import classes from './Did.module.css'
import type { LeftOutMemory } from './LeftOut'
import { SavedChip } from './SavedChip'

/** What memory did on a message: looked up, saved, known already; and where all of it can be read. */
export function Did({
  message,
  memories,
  workspace,
  linkTo,
  without,
  onLeaveOut,
}: {
  message: Message
  memories: Memory[] | undefined // of this chat; unknown while they are on their way
  workspace: string
  linkTo: (memory: string) => string
  without: string[]
  onLeaveOut?: (memory: LeftOutMemory) => void
}) {
  const words = useChatWords()
  const { metadata } = message
  const known = names(metadata.known)
  const saved = names(metadata.saved)
  const others = (memories ?? []).filter(
    (one) => one.source_message_id === message.id && one.source_type !== 'model' && !saved.includes(one.id),
  )
  const trace = typeof metadata.trace_id === 'string' ? metadata.trace_id : undefined
  const used = lookedUp(message)
  const timing = metadata.timing as Timing | undefined
  if (!used.length && !saved.length && !others.length && !known.length && !trace && !timing) return null
  return (
    <div className={classes.row}>
      <Used memories={used} workspace={workspace} linkTo={linkTo} without={without} onLeaveOut={onLeaveOut} />
      {memories &&
        saved.map((id) => (
          <SavedChip
            key={id}
            id={id}
            text={memories.find((one) => one.id === id)?.content}
            workspace={workspace}
          />
        ))}
      {others.map((one) => (
        <SavedChip key={one.id} id={one.id} text={one.content} workspace={workspace} />
      ))}
      {known.map((id) => (
        <Anchor
          key={id}
          component={Link}
          to={linkTo(id)}
          className={`${classes.chip} ${classes.known}`}
          underline="hover"
        >
          <IconBookmark size={12} stroke={1.8} aria-hidden />
          {words('alreadyKnown')}
        </Anchor>
      ))}
      {trace && <TraceLink id={trace} />}
      <Spent timing={timing} usage={metadata.usage as Usage | undefined} />
    </div>
  )
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}
