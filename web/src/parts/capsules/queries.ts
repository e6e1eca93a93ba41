import { type InfiniteData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'

/** Everything about capsules lies under this key, so that one word makes it all fresh. */
export const CAPSULES = ['capsules'] as const
export const LISTS = ['capsules', 'list'] as const

export const usageQuery = queryOptions({
  queryKey: [...CAPSULES, 'usage'],
  queryFn: () => ok(api.GET('/v1/memory/usage')),
})

export const tagsQuery = queryOptions({
  queryKey: [...CAPSULES, 'tags'],
  queryFn: () => ok(api.GET('/v1/memory/capsules/tags')),
})

type Lists = InfiniteData<Schema<'CapsulePage'>>

/** After something was added: lists begin anew at their first page, for to ask again for hundreds would take long. */
export async function refresh(client: QueryClient): Promise<void> {
  client.setQueriesData<Lists>({ queryKey: LISTS }, (list) =>
    list ? { pages: list.pages.slice(0, 1), pageParams: list.pageParams.slice(0, 1) } : list,
  )
  await client.invalidateQueries({ queryKey: CAPSULES })
}

/** After one was changed (or is gone: null): it is so in every list at once, wherever one has scrolled to. */
export function replace(client: QueryClient, id: string, capsule: Schema<'CapsuleOut'> | null): void {
  client.setQueriesData<Lists>({ queryKey: LISTS }, (list) =>
    list
      ? {
          ...list,
          pages: list.pages.map((page) => ({
            ...page,
            items: page.items.flatMap((one) =>
              one.id !== id ? [one] : capsule ? [{ ...one, ...capsule, snippet: null }] : [],
            ),
          })),
        }
      : list,
  )
  const isList = (key: readonly unknown[]) => key[1] === 'list'
  const isGone = (key: readonly unknown[]) => capsule === null && key.includes(id)
  void client.invalidateQueries({
    queryKey: CAPSULES,
    predicate: ({ queryKey: key }) => !isList(key) && !isGone(key),
  })
  // What is gone may still be open for a moment: it is stale, and not asked for before it is opened again.
  void client.invalidateQueries({
    queryKey: CAPSULES,
    predicate: ({ queryKey: key }) => isGone(key),
    refetchType: 'none',
  })
}
