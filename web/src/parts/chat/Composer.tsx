import { ActionIcon, Textarea } from '@mantine/core'
import { IconArrowUp, IconPlayerStopFilled } from '@tabler/icons-react'
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from 'react'
import classes from './Composer.module.css'
import { useChatWords } from './chat.words'

/** Where one writes: grows with the text, sends on Enter, stops what is being answered. */
export function Composer({
  value,
  onChange,
  onSend,
  onStop,
  busy = false,
  disabled = false,
  label,
  placeholder,
  tools,
}: {
  value: string
  onChange: (text: string) => void
  onSend: () => void
  onStop?: () => void
  busy?: boolean
  disabled?: boolean
  label: string
  placeholder?: string
  tools?: ReactNode
}) {
  const words = useChatWords()
  const hint = useId()
  const input = useRef<HTMLTextAreaElement>(null)
  // Ready to be written in, but not where a keyboard would come up and cover half of the page.
  useEffect(() => {
    if (matchMedia('(hover: hover)').matches) input.current?.focus()
  }, [])
  const empty = value.trim() === ''
  const typed = (event: KeyboardEvent) => {
    // While a Chinese or Japanese word is being chosen, Enter chooses it.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (!empty && !busy && !disabled) onSend()
  }
  return (
    <div className={classes.box}>
      <Textarea
        ref={input}
        aria-label={label}
        aria-describedby={hint}
        placeholder={placeholder}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        onKeyDown={typed}
        autosize
        minRows={1}
        maxRows={10}
        variant="unstyled"
        classNames={{ input: classes.input }}
      />
      <span id={hint} hidden>
        {words('enterHint')}
      </span>
      <div className={classes.foot}>
        <div className={classes.tools}>{tools}</div>
        {busy && onStop ? (
          <ActionIcon size="lg" radius="xl" aria-label={words('stop')} title={words('stop')} onClick={onStop}>
            <IconPlayerStopFilled size={16} aria-hidden />
          </ActionIcon>
        ) : (
          <ActionIcon
            size="lg"
            radius="xl"
            aria-label={words('send')}
            title={words('send')}
            disabled={empty || disabled || busy}
            onClick={onSend}
          >
            <IconArrowUp size={18} aria-hidden />
          </ActionIcon>
        )}
      </div>
    </div>
  )
}
