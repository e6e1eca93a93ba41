import { Button, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useMe } from '@/app/session'
import { memoriesKey, type Workspace } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Marked } from '@/parts/Marked'
import { Waiting } from '@/parts/Waiting'
import { AddMemory } from './AddMemory'
import { MemoryCard } from './MemoryCard'
import { usePlaygroundWords } from './playground.words'
import { useTurns } from './turns'

const OFTEN = 15_000 // jobs save too, after a turn

/** All that a workspace remembers. */
export function Memories({ workspace, chosen }: { workspace: Workspace; chosen?: string }) {
  const words = usePlaygroundWords()
  const me = useMe()
  const { fresh } = useTurns()
  const [typed, setTyped] = useState('')
  const [past, setPast] = useState(false)
  const [sought] = useDebouncedValue(typed.trim(), 300)
  const path = { workspace_id: workspace.id }
  const list = useInfiniteQuery({
    queryKey: [...memoriesKey(workspace.id), 'list', past],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/memories', {
          params: { path, query: { limit: 50, cursor: pageParam, superseded: past } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: OFTEN,
  })
  const found = useQuery({
    queryKey: [...memoriesKey(workspace.id), 'search', sought],
    queryFn: () =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/search', {
          params: { path, query: { q: sought, type: ['memory'], limit: 20 } },
        }),
      ),
    enabled: sought !== '',
    placeholderData: keepPreviousData,
  })
  const one = useQuery({
    queryKey: [...memoriesKey(workspace.id), 'one', chosen],
    queryFn: () =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/memories/{memory_id}', {
          params: { path: { ...path, memory_id: chosen ?? '' } },
        }),
      ),
    enabled: chosen !== undefined,
  })
  const listed = list.data?.pages.flatMap((page) => page.items) ?? []
  // What somebody came for stands first.
  const items = chosen && one.data ? [one.data, ...listed.filter(({ id }) => id !== chosen)] : listed
  const results = sought ? found.data?.items : undefined
  // A viewer reads; who may change which one of several people's, the server knows.
  const mayChange = workspace.role !== 'viewer' && me !== undefined
  return (
    <Stack gap="sm">
      {(items.length > 0 || typed) && (
        <TextInput
          aria-label={words('searchMemories')}
          placeholder={words('searchMemories')}
          leftSection={<IconSearch size={15} stroke={1.6} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          maxLength={1000}
        />
      )}
      {mayChange && !sought && <AddMemory workspace={workspace.id} />}
      {(items.length > 0 || past) && !sought && (
        <Switch
          size="xs"
          label={words('showPast')}
          checked={past}
          onChange={(event) => setPast(event.currentTarget.checked)}
        />
      )}
      {list.isPending && <Waiting />}
      {list.isError && <Failed error={list.error} retry={() => list.refetch()} />}
      {found.isError && sought && <Failed error={found.error} retry={() => found.refetch()} />}
      {list.isSuccess && items.length === 0 && (
        <div>
          <Text size="sm" fw={600}>
            {words('noMemories')}
          </Text>
          <Text size="sm" c="dimmed" mt={4}>
            {words('noMemoriesHint')}
          </Text>
        </div>
      )}
      <Stack gap="xs" aria-live="polite">
        {!found.isPlaceholderData && results?.length === 0 && (
          <Text size="sm" c="dimmed">
            {words('nothingFound')}
          </Text>
        )}
        {results
          ? results.map((one) => {
              const whole = items.find((memory) => memory.id === one.id)
              return (
                <MemoryCard
                  key={one.id}
                  memory={whole ?? { id: one.id, content: one.text, category: one.category }}
                  workspace={workspace.id}
                  mayChange={mayChange}
                >
                  <Marked html={one.snippet} />
                </MemoryCard>
              )
            })
          : items.map((one) => (
              <MemoryCard
                key={one.id}
                memory={one}
                newer={items.find((other) => other.id === one.superseded_by)?.content}
                workspace={workspace.id}
                fresh={fresh.includes(one.id) || one.id === chosen}
                mayChange={mayChange}
              />
            ))}
      </Stack>
      {!results && list.hasNextPage && (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => list.fetchNextPage()}
          loading={list.isFetchingNextPage}
        >
          {words('more')}
        </Button>
      )}
    </Stack>
  )
}
