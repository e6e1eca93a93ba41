import { useDebouncedValue } from '@mantine/hooks'
import { createSpotlight, Spotlight, type SpotlightActionGroupData } from '@mantine/spotlight'
import '@mantine/spotlight/styles.css'
import { IconDots, IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useNavigate } from 'react-router'
import { api, ok } from '@/api/client'
import { PAGES } from './frame'
import { useFrameWords } from './frame.words'
import classes from './search.module.css'

const [store, spotlight] = createSpotlight()

export const openSearch = () => spotlight.open()

/** ⌘K, everywhere: capsules by words and meaning, and pages. */
export function Search() {
  const words = useFrameWords()
  const go = useNavigate()
  const [asked, setAsked] = useState('')
  const [settled] = useDebouncedValue(asked.trim(), 200)
  const [loose, setLoose] = useState('') // the question of which also less relevant results are wanted
  const everything = loose !== '' && loose === settled
  const found = useQuery({
    queryKey: ['capsules', 'everywhere', settled, everything],
    queryFn: () =>
      ok(
        api.GET('/v1/memory/capsules', {
          params: {
            query: { q: settled, mode: 'hybrid', limit: 8, min_relevance: everything ? 0 : undefined },
          },
        }),
      ),
    enabled: settled !== '',
    placeholderData: everything ? keepPreviousData : undefined,
  })
  useEffect(() => {
    if (found.data) chooseFirst()
  }, [found.data])
  const matches = (label: string) => label.toLowerCase().includes(asked.trim().toLowerCase())
  const pages = PAGES.filter((page) => matches(words(page.name)))
  const more = settled !== '' && found.data && !everything && found.data.items.length < 8
  const groups: SpotlightActionGroupData[] = [
    {
      group: words('capsules'),
      actions: (settled ? (found.data?.items ?? []) : []).map((capsule) => ({
        id: capsule.id,
        label: capsule.title,
        description: capsule.tags.map((tag) => `#${tag}`).join(' '),
        onClick: () => go(`/dashboard/recall?capsule=${capsule.id}`),
      })),
    },
    {
      group: words('pages'),
      actions: pages.map(({ name, to, icon: Icon }) => ({
        id: name,
        label: words(name),
        leftSection: <Icon size={18} stroke={1.6} aria-hidden />,
        onClick: () => go(to),
      })),
    },
    {
      group: words('notEnough'),
      actions: more
        ? [
            {
              id: 'less-relevant',
              label: words('lessRelevant'),
              description: found.data?.items.length ? undefined : words('nothing'),
              leftSection: <IconDots size={18} stroke={1.6} aria-hidden />,
              closeSpotlightOnTrigger: false,
              onClick: () => setLoose(settled),
            },
          ]
        : [],
    },
  ]
  return (
    <Spotlight
      store={store}
      actions={groups.filter((group) => group.actions.length > 0)}
      filter={(_, actions) => actions}
      query={asked}
      onQueryChange={setAsked}
      shortcut={['mod + K']}
      nothingFound={words('nothing')}
      classNames={{ actionDescription: classes.about }}
      attributes={{ content: { 'aria-label': words('search') } }}
      scrollable
      maxHeight={420}
      searchProps={{
        placeholder: words('searchEverything'),
        'aria-label': words('searchEverything'),
        leftSection: <IconSearch size={18} stroke={1.6} aria-hidden />,
      }}
    />
  )
}

/** Spotlight chooses the first one when something is typed, but what is found comes a moment later. */
function chooseFirst() {
  const list = document.getElementById(store.getState().listId)
  const [first, ...others] = list?.querySelectorAll('[data-action]') ?? []
  for (const other of others) other.removeAttribute('data-selected')
  first?.setAttribute('data-selected', 'true')
  store.updateState((state) => ({ ...state, selected: first ? 0 : -1 }))
}
