import { CloseButton, SegmentedControl, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { type Mode, usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { FilterMenu } from './FilterMenu'
import classes from './SearchBar.module.css'

const MODES: Mode[] = ['hybrid', 'literal', 'semantic']

export function SearchBar() {
  const words = useRecallWords()
  const place = usePlace()
  const [typed, setTyped] = useState(place.q)
  const asked = useRef(place.q)
  const ask = useDebouncedCallback((q: string) => {
    asked.current = q
    place.set({ q: q || null, mode: q ? place.mode.replace('hybrid', '') : null }, { replace: true })
  }, 300)
  // What is asked for can also change by the address: a link, the way back, a filter that is cleared.
  useEffect(() => {
    if (place.q === asked.current) return
    asked.current = place.q
    setTyped(place.q)
  }, [place.q])
  const write = (text: string) => {
    setTyped(text)
    ask(text.trim())
  }
  return (
    <div className={classes.bar} role="search">
      <TextInput
        className={classes.field}
        type="search"
        aria-label={words('search')}
        placeholder={words('search')}
        value={typed}
        maxLength={2000}
        onChange={(event) => write(event.currentTarget.value)}
        leftSection={<IconSearch size={17} stroke={1.6} aria-hidden />}
        rightSection={
          typed && <CloseButton size="sm" aria-label={words('searchClear')} onClick={() => write('')} />
        }
      />
      <FilterMenu />
      {place.q && (
        <SegmentedControl
          className={classes.modes}
          size="xs"
          aria-label={words('mode')}
          value={place.mode}
          onChange={(mode) => place.set({ mode: mode === 'hybrid' ? null : mode })}
          data={MODES.map((mode) => ({ value: mode, label: words(mode) }))}
        />
      )}
    </div>
  )
}
