import { Button } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { SearchField } from '@/parts/SearchField'
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
        <SearchField
          label={words('search')}
          asked={asked.q ?? ''}
          onAsk={(q) => place.set({ q: q || null }, true)}
        />
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
