import { useDeferredValue } from 'react'
import { Bubble } from './Bubble'
import { useChatWords } from './chat.words'
import classes from './Streaming.module.css'

/** An answer while it is being written; three dots until its first word. */
export function Streaming({ name, text }: { name?: string; text: string }) {
  const words = useChatWords()
  const settled = useDeferredValue(text)
  return (
    <div aria-busy="true">
      <Bubble mine={false} name={name} text={settled}>
        {text === '' && (
          <span className={classes.waiting} role="status" aria-label={words('answering')}>
            <i />
            <i />
            <i />
          </span>
        )}
      </Bubble>
    </div>
  )
}
