import { CloseButton, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import classes from './SearchField.module.css'
import { useSearchFieldWords } from './SearchField.words'

const PAUSE = 300 // milliseconds

/** What a list is searched for: asked once one pauses in typing. */
export function SearchField({
  label,
  asked,
  onAsk,
  longest = 255,
  className,
}: {
  label: string
  asked: string
  onAsk: (q: string) => void
  longest?: number
  className?: string
}) {
  const words = useSearchFieldWords()
  const [typed, setTyped] = useState(asked)
  const sent = useRef(asked)
  const ask = useDebouncedCallback((q: string) => {
    sent.current = q
    onAsk(q)
  }, PAUSE)
  // It can also change by the address: a link, the way back, filters that are cleared.
  useEffect(() => {
    if (asked === sent.current) return
    sent.current = asked
    setTyped(asked)
  }, [asked])
  const write = (text: string) => {
    setTyped(text)
    ask(text.trim())
  }
  return (
    <TextInput
      className={className ?? classes.field}
      classNames={{ input: classes.input }}
      type="search"
      aria-label={label}
      placeholder={label}
      value={typed}
      maxLength={longest}
      onChange={(event) => write(event.currentTarget.value)}
      leftSection={<IconSearch size={17} stroke={1.6} aria-hidden />}
      rightSection={typed && <CloseButton size="sm" aria-label={words('clear')} onClick={() => write('')} />}
    />
  )
}
