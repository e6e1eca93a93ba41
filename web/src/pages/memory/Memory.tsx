import { Button, CloseButton, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch, IconTrash } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { Skeletons } from '@/parts/Skeletons'
import { Filters } from './Filters'
import classes from './Memory.module.css'
import { useMemoryWords } from './memory.words'
import { NO_FILTERS, useFacets, useMemoryPlace, useShelf } from './place'
import { Rows } from './Rows'
import { Sheet } from './Sheet'

/** One browser of all memory: of every kind, wherever it lies. */
export default function Memory() {
  const words = useMemoryWords()
  const format = useFormat()
  const place = useMemoryPlace()
  const { asked, filtered } = place
  const found = useShelf(asked)
  const facets = useFacets(asked)
  const all = useFacets({ superseded: asked.superseded })
  const items = found.data?.pages.flatMap((page) => page.items)
  const narrowed = filtered || Boolean(asked.q)
  // Under all filters but its own, a count of the kinds is one of everything only while no kind is chosen.
  const kinds = facets.data?.kind ?? []
  const total = sum(all.data?.kind ?? [])
  const fitting = sum(asked.kind ? kinds.filter((one) => one.value === asked.kind) : kinds)
  const told = [
    words('about', { count: total, number: format.number(total) }),
    narrowed && facets.data && words('found', { count: fitting, number: format.number(fitting) }),
  ]
  return (
    <Page
      title={words('title')}
      about={all.data && told.filter(Boolean).join(' · ')}
      actions={
        <Button
          component={Link}
          to="/dashboard/trash"
          variant="default"
          leftSection={<IconTrash size={16} stroke={1.6} aria-hidden />}
        >
          {words('toTrash')}
        </Button>
      }
      aside={<Sheet />}
    >
      <div className={classes.bar} role="search">
        <Search />
        <Filters facets={facets.data} />
      </div>
      {found.error && !items ? (
        <Failed error={found.error} retry={found.refetch} />
      ) : !items ? (
        <Skeletons lines={8} height={84} />
      ) : items.length > 0 ? (
        <Rows
          items={items}
          old={found.isPlaceholderData}
          more={found.hasNextPage}
          loading={found.isFetchingNextPage}
          failed={found.isFetchNextPageError ? found.error : null}
          onMore={() => void found.fetchNextPage()}
        />
      ) : narrowed ? (
        <Empty
          title={words('nothing')}
          action={
            <Button variant="light" onClick={() => place.set({ ...NO_FILTERS, q: null })}>
              {words('clearAll')}
            </Button>
          }
        >
          {words('nothingText')}
        </Empty>
      ) : (
        <Empty title={words('none')}>{words('noneText')}</Empty>
      )}
    </Page>
  )
}

function sum(counts: { count: number }[]): number {
  return counts.reduce((before, one) => before + one.count, 0)
}

function Search() {
  const words = useMemoryWords()
  const place = useMemoryPlace()
  const now = place.asked.q ?? ''
  const [typed, setTyped] = useState(now)
  const asked = useRef(now)
  const ask = useDebouncedCallback((q: string) => {
    asked.current = q
    place.set({ q: q || null }, true)
  }, 300)
  // It can also change by the address: a link, the way back, filters that are cleared.
  useEffect(() => {
    if (now === asked.current) return
    asked.current = now
    setTyped(now)
  }, [now])
  const write = (text: string) => {
    setTyped(text)
    ask(text.trim())
  }
  return (
    <TextInput
      className={classes.field}
      type="search"
      aria-label={words('search')}
      placeholder={words('search')}
      value={typed}
      maxLength={255}
      onChange={(event) => write(event.currentTarget.value)}
      leftSection={<IconSearch size={17} stroke={1.6} aria-hidden />}
      rightSection={
        typed && <CloseButton size="sm" aria-label={words('searchClear')} onClick={() => write('')} />
      }
    />
  )
}
