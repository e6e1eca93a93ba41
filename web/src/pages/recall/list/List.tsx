import { Alert, Button, Group, Text } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useFormat, useMe } from '@/app/session'
import { LISTS } from '@/parts/capsules/queries'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { addDays, startOfDay } from '../days'
import { NO_FILTERS, usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { Chosen } from './Chosen'
import { Rows } from './Rows'
import { SearchBar } from './SearchBar'

/** Search, filters, and what they find. */
export function List() {
  const words = useRecallWords()
  const format = useFormat()
  const zone = useMe()?.user?.timezone ?? 'UTC'
  const place = usePlace()
  const { filters, q, mode } = place
  const [loose, setLoose] = useState('') // the question of which also less relevant results are wanted
  const query = {
    q: q || undefined,
    mode: q ? mode : undefined,
    tag: filters.tag || undefined,
    kind: filters.kind || undefined,
    project_id: filters.project || undefined,
    from: filters.from ? startOfDay(filters.from, zone) : undefined,
    to: filters.to ? startOfDay(addDays(filters.to, 1), zone) : undefined,
    limit: 50,
    min_relevance: q && mode !== 'literal' && loose === q ? 0 : undefined,
  }
  const found = useInfiniteQuery({
    queryKey: [...LISTS, query],
    queryFn: ({ pageParam, signal }) =>
      ok(api.GET('/v1/memory/capsules', { params: { query: { ...query, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  })
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  const degraded = Boolean(q) && found.data?.pages[0]?.degraded === 'literal'
  const ranked = q !== '' && mode !== 'literal' && !degraded
  const filtered = Object.values(filters).some(Boolean)
  const lessRelevant = ranked && loose !== q && found.data && items.length < query.limit && (
    <Button variant="subtle" mt={items.length > 0 ? 'md' : 0} onClick={() => setLoose(q)}>
      {words('lessRelevant')}
    </Button>
  )
  const number = format.number(items.length)
  return (
    <>
      <SearchBar />
      <Chosen />
      <Text size="sm" c="dimmed" role="status" mb={q || filtered ? 'xs' : 0}>
        {(q || filtered) && found.data && !found.isPlaceholderData && items.length > 0
          ? ranked && items.length >= query.limit
            ? words('closest', { number })
            : found.hasNextPage
              ? words('foundMore', { number })
              : words('found', { count: items.length, number })
          : ''}
      </Text>
      {degraded && (
        <Alert mb="md" p="sm">
          {words('degraded')}
        </Alert>
      )}
      {(found.isPending || (found.isPlaceholderData && items.length === 0)) && <Waiting />}
      {found.error && !found.data && <Failed error={found.error} retry={found.refetch} />}
      {found.data && !found.isPlaceholderData && items.length === 0 && (
        <Empty
          title={words('nothing')}
          action={
            <Group gap="xs" justify="center">
              {lessRelevant}
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
      )}
      {items.length > 0 && (
        <Rows
          items={items}
          ranked={ranked}
          old={found.isPlaceholderData}
          more={found.hasNextPage}
          loading={found.isFetchingNextPage}
          failed={found.isFetchNextPageError ? found.error : null}
          onMore={() => void found.fetchNextPage()}
        />
      )}
      {items.length > 0 && lessRelevant}
    </>
  )
}
