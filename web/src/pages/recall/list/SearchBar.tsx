import { SegmentedControl } from '@mantine/core'
import { SearchField } from '@/parts/SearchField'
import { type Mode, usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { FilterMenu } from './FilterMenu'
import classes from './SearchBar.module.css'

const MODES: Mode[] = ['hybrid', 'literal', 'semantic']

export function SearchBar() {
  const words = useRecallWords()
  const place = usePlace()
  return (
    <div className={classes.bar} role="search">
      <SearchField
        label={words('search')}
        longest={2000}
        asked={place.q}
        onAsk={(q) =>
          place.set({ q: q || null, mode: q ? place.mode.replace('hybrid', '') : null }, { replace: true })
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
