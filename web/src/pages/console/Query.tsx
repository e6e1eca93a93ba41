import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { ApiError, api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Card } from './Card'
import { useConsoleWords } from './console.words'
import { Facts } from './Facts'

const FORM = /^qry_[a-z0-9]{24}$/

/** What one recall from a graph did, by its id. */
export function Query() {
  const words = useConsoleWords()
  const [asked, ask] = useSearchParams()
  const query_id = asked.get('id') ?? ''
  const [typed, setTyped] = useState(query_id)
  const found = useQuery({
    queryKey: ['console', 'query', query_id],
    queryFn: () => ok(api.GET('/x_console/api/queries/{query_id}', { params: { path: { query_id } } })),
    enabled: FORM.test(query_id),
  })
  const gone = found.error instanceof ApiError && found.error.status === 404
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {words('queryHow')}
      </Text>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          ask({ id: typed.trim() })
        }}
      >
        <Group align="flex-start" gap="xs">
          <TextInput
            aria-label={words('queryId')}
            placeholder="qry_…"
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            error={query_id !== '' && !FORM.test(query_id) && words('queryForm')}
            flex={1}
            maw={420}
            spellCheck={false}
            autoComplete="off"
          />
          <Button type="submit" disabled={typed.trim() === ''}>
            {words('look')}
          </Button>
        </Group>
      </form>
      {found.isLoading && <Waiting />}
      {gone && <Empty title={words('queryNone')}>{words('queryNoneHow')}</Empty>}
      {found.isError && !gone && <Failed error={found.error} retry={found.refetch} />}
      {found.data && <Told of={found.data} />}
    </Stack>
  )
}

function Told({ of }: { of: Schema<'QueryOut'> }) {
  const words = useConsoleWords()
  const format = useFormat()
  return (
    <Card title={of.id} about={format.minute(of.at)}>
      <Facts
        of={[
          [words('accountId'), of.account_id],
          [words('user'), of.user_id ?? '–'],
          [words('credential'), of.credential_id ?? '–'],
          [words('graph'), of.graph_id],
          [
            words('results'),
            words('resultsOf', { returned: of.returned, total: of.total, most: of.max_results }),
          ],
          [words('best'), of.best === null ? '–' : format.percent(of.best)],
          [words('least'), format.percent(of.min_relevance)],
          [words('filters'), of.filters.join(', ') || words('filtersNone')],
          [words('degraded'), of.degraded ?? words('degradedNo')],
          [words('took'), words('ms', { ms: format.number(Math.round(of.milliseconds)) })],
        ]}
      />
    </Card>
  )
}
