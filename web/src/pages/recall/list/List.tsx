import { Alert, Button, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { NO_FILTERS, usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { useAsked } from './asked'
import { Chosen } from './Chosen'
import { Found } from './Found'
import { useFound } from './found'
import classes from './List.module.css'
import { SearchBar } from './SearchBar'
import { ChosenBar } from './select/Bar'
import { useChoosing } from './select/choosing'
import { Whole } from './Whole'
import { monthsQuery } from './whole'

/** Search, filters, and what they find. */
export function List() {
  const words = useRecallWords()
  const format = useFormat()
  const place = usePlace()
  const { q, mode } = place
  const { asked, zone, filtered } = useAsked()
  const { choose } = useChoosing()
  const found = useFound(asked)
  const months = useQuery(monthsQuery(asked))
  const [listed, setListed] = useState(q === '') // the whole list was the last that was shown
  const searched = q !== '' && found.data !== undefined && !(listed && found.isPlaceholderData)
  if (listed !== !searched && (q === '' || searched)) setListed(!searched)

  const total = months.data?.items.reduce((sum, one) => sum + one.count, 0) ?? 0
  const count = q ? found.items.length : total
  const said = q
    ? searched && !found.isPlaceholderData && count > 0
      ? found.hasNextPage
        ? words('foundFirst', { number: format.number(count) })
        : words('found', { count, number: format.number(count) })
      : ''
    : filtered && months.data && total > 0
      ? words('found', { count: total, number: format.number(total) })
      : ''
  const chooseAll = async () => {
    if (q) choose(found.items.map((hit) => hit.id))
    else choose((await ok(api.GET('/v1/memory/capsules/ids', { params: { query: asked } }))).ids)
  }
  const less = searched && found.ranked && !found.loose && found.few && (
    <Button variant="subtle" mt={count > 0 ? 'md' : 0} onClick={found.loosen}>
      {words('lessRelevant')}
    </Button>
  )
  const nothing = (
    <Empty
      title={q ? words('nothingFor', { q: q.slice(0, 80) }) : words('nothing')}
      action={
        <Group gap="xs" justify="center">
          {less}
          {q && mode !== 'hybrid' && (
            <Button variant="light" onClick={() => place.set({ mode: null })}>
              {words(mode === 'literal' ? 'tryMeaning' : 'tryWords')}
            </Button>
          )}
          {filtered && (
            <Button variant="default" onClick={() => place.set({ ...NO_FILTERS })}>
              {words('clearFilters')}
            </Button>
          )}
          {q && (
            <Button variant="default" onClick={() => place.set({ q: null, mode: null })}>
              {words('searchClear')}
            </Button>
          )}
        </Group>
      }
    >
      {words(!q ? 'nothingFilter' : mode === 'literal' ? 'nothingWords' : 'nothingMeaning')}
    </Empty>
  )
  return (
    <>
      <SearchBar />
      <Chosen />
      <Text size="sm" c="dimmed" role="status" className={classes.said} data-on={q || filtered || undefined}>
        {said}
      </Text>
      {searched && found.degraded && (
        <Alert mb="md" p="sm">
          {words('degraded')}
        </Alert>
      )}
      {q && found.error && !found.data ? (
        <Failed error={found.error} retry={found.refetch} />
      ) : searched ? (
        found.items.length > 0 ? (
          <Found
            items={found.items}
            ranked={found.ranked}
            old={found.isPlaceholderData}
            more={found.hasNextPage}
            loading={found.isFetchingNextPage}
            failed={found.isFetchNextPageError ? found.error : null}
            onMore={() => void found.fetchNextPage()}
          />
        ) : found.isPlaceholderData ? (
          <Skeletons lines={6} height={96} />
        ) : (
          nothing
        )
      ) : q && !listed ? (
        <Skeletons lines={6} height={96} />
      ) : (
        <Whole asked={asked} zone={zone} old={q !== ''} empty={nothing} />
      )}
      {count > 0 && less}
      <ChosenBar count={count} onAll={chooseAll} />
    </>
  )
}
