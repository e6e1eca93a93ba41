import { type InfiniteData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'

/** Everything about capsules lies under this key, so that one word makes it all fresh. */
export const CAPSULES = ['capsules'] as const
export const LISTS = ['capsules', 'list'] as const

export const usageQuery = queryOptions({
  queryKey: [...CAPSULES, 'usage'],
  queryFn: () => ok(api.GET('/v1/memory/usage')),
})

/** The kinds that there are, with their numbers. */
export const kindsQuery = queryOptions({
  queryKey: [...CAPSULES, 'kinds'],
  queryFn: () => ok(api.GET('/v1/memory/capsules/counts', { params: { query: { by: 'kind' } } })),
})

export const tagsQuery = queryOptions({
  queryKey: [...CAPSULES, 'tags'],
  queryFn: () => ok(api.GET('/v1/memory/capsules/tags')),
})

type Page = Schema<'HitOut'>[] | InfiniteData<Schema<'CapsulePage'>> | undefined

/** After something was added, changed or put away. How many there are is asked first: by that the pages are found. */
export async function refresh(client: QueryClient): Promise<void> {
  const isCount = (key: readonly unknown[]) => key[1] === 'list' && key[2] === 'months'
  await client.invalidateQueries({ queryKey: CAPSULES, predicate: ({ queryKey }) => isCount(queryKey) })
  await client.invalidateQueries({ queryKey: CAPSULES, predicate: ({ queryKey }) => !isCount(queryKey) })
}

/** After one was changed: it is so in every list at once. When it is gone (null), what is asked of it is not asked again. */
export async function replace(
  client: QueryClient,
  id: string,
  capsule: Schema<'CapsuleOut'> | null,
): Promise<void> {
  const renewed = (items: Schema<'HitOut'>[]) =>
    items.map((one) => (one.id === id && capsule ? { ...one, ...capsule, snippet: null } : one))
  client.setQueriesData<Page>({ queryKey: LISTS }, (list) => {
    if (!list || !capsule) return list
    if (Array.isArray(list)) return renewed(list)
    if (!('pages' in list)) return list
    return { ...list, pages: list.pages.map((page) => ({ ...page, items: renewed(page.items) })) }
  })
  if (capsule === null)
    client.removeQueries({ queryKey: CAPSULES, predicate: ({ queryKey }) => queryKey.includes(id) })
  await refresh(client)
}
