import { ActionIcon } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { type ReactNode, useRef } from 'react'
import { useChatWords } from '@/parts/chat/chat.words'
import classes from './Code.module.css'

/** A block of code, with a button that copies it. What can be scrolled must be reached by the keyboard. */
export function Code({ children }: { children: ReactNode }) {
  const words = useChatWords()
  const text = useRef<HTMLPreElement>(null)
  const { copied, copy } = useClipboard()
  const label = words(copied ? 'copied' : 'copyCode')
  return (
    <div className={classes.frame}>
      <pre ref={text} tabIndex={0}>
        {children}
      </pre>
      <div className={classes.copy}>
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={label}
          title={label}
          onClick={() => copy(text.current?.textContent?.replace(/\n$/, '') ?? '')}
        >
          {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} stroke={1.6} aria-hidden />}
        </ActionIcon>
      </div>
    </div>
  )
}
