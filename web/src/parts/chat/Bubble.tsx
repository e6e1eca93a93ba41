import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFormat } from '@/app/session'
import { Markdown } from '@/parts/Markdown'
import classes from './Bubble.module.css'
import { useChatWords } from './chat.words'

/**
 * One message: what I said stands on the right as it was typed, what others said on the left as Markdown. `actions`
 * show while one points at it or has the focus in it, and always where there is no pointer.
 */
export function Bubble({
  mine,
  name,
  at,
  text,
  lit = false,
  actions,
  keepActions = false,
  children,
}: {
  mine: boolean
  name?: string
  at?: string
  text: string
  lit?: boolean
  actions?: ReactNode
  keepActions?: boolean
  children?: ReactNode
}) {
  const words = useChatWords()
  const format = useFormat()
  return (
    <article className={`${classes.message} ${mine ? classes.mine : classes.theirs}`} aria-label={name}>
      {(name || at) && !mine && (
        <div className={classes.head}>
          <Text size="xs" fw={600} truncate>
            {name}
          </Text>
          {at && (
            <Text size="xs" c="dimmed" component="time" dateTime={at} flex="none">
              {format.clock(at)}
            </Text>
          )}
        </div>
      )}
      {text && (
        <div className={lit ? `${classes.words} ${classes.lit}` : classes.words}>
          {mine ? <div className={classes.plain}>{text}</div> : <Markdown text={text} />}
        </div>
      )}
      {children}
      {actions && (
        <div
          className={keepActions ? `${classes.actions} ${classes.kept}` : classes.actions}
          role="group"
          aria-label={words('actions')}
        >
          {actions}
        </div>
      )}
    </article>
  )
}
