import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'

type Listed = { id?: unknown; owned_by?: unknown }

const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async () => {
    const answer: { data?: unknown } = await ok(api.GET('/v1/models'))
    return Array.isArray(answer.data) ? (answer.data as Listed[]) : []
  },
  staleTime: 60_000,
  retry: false,
})

/**
 * The models that can be talked to. A server without one lists at most its own embedders, which answer nothing; a
 * provider that refuses to list its models may answer all the same.
 */
export function useModels(): { names: string[]; connected: boolean; pending: boolean } {
  const { data, isPending, isError } = useQuery(modelsQuery)
  const names = (data ?? [])
    .filter((one) => one.owned_by !== 'keepstone')
    .flatMap((one) => (typeof one.id === 'string' ? [one.id] : []))
  return { names, connected: names.length > 0 || isPending || isError, pending: isPending }
}
