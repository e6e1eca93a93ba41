import { Group, Select } from '@mantine/core'
import { useAddress } from '@/parts/address'
import { SearchField } from '@/parts/SearchField'
import { placeName } from './places'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'
import { KINDS, SPANS, usePlaces, type Wanted } from './useTraces'

/** Which traces are shown: by the words of the question, what it was, where and when. */
export function Filters({ wanted }: { wanted: Wanted }) {
  const words = useTracesWords()
  const [, change] = useAddress()
  const places = usePlaces()
  const known = places.data?.places ?? []
  const options = known.map((one) => ({ value: one.space, label: placeName(one, words) }))
  if (wanted.space && !options.some((one) => one.value === wanted.space)) {
    options.push({ value: wanted.space, label: wanted.space.replace(/^(scope|store|dm):/, '') })
  }
  return (
    <Group gap="xs" mb="md" role="search" className={classes.filters}>
      <SearchField
        className={classes.words}
        label={words('filterText')}
        asked={wanted.q ?? ''}
        onAsk={(q) => change({ q }, { replace: true })}
      />
      <Select
        aria-label={words('filterKind')}
        data={[
          { value: '', label: words('everything') },
          ...KINDS.map((one) => ({ value: one, label: words(one) })),
        ]}
        value={wanted.kind ?? ''}
        onChange={(value) => change({ kind: value })}
        allowDeselect={false}
      />
      <Select
        aria-label={words('filterPlace')}
        data={[{ value: '', label: words('everywhere') }, ...options]}
        value={wanted.space ?? ''}
        onChange={(value) => change({ space: value })}
        allowDeselect={false}
        searchable
      />
      <Select
        aria-label={words('filterTime')}
        data={[
          { value: '', label: words('anyTime') },
          ...(Object.keys(SPANS) as (keyof typeof SPANS)[]).map((one) => ({ value: one, label: words(one) })),
        ]}
        value={wanted.span ?? ''}
        onChange={(value) => change({ when: value })}
        allowDeselect={false}
      />
    </Group>
  )
}
