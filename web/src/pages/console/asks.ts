import { queryOptions } from '@tanstack/react-query'
import { ApiError, api, ok, type Schema } from '@/api/client'

export const jobsQuery = queryOptions({
  queryKey: ['console', 'jobs'],
  queryFn: () => ok(api.GET('/x_console/api/jobs')),
  refetchInterval: 5_000,
})

export const plansQuery = queryOptions({
  queryKey: ['console', 'plans'],
  queryFn: () => ok(api.GET('/x_console/api/plans')),
})

/** Each part of the server. 503 is an answer too: it says which part is not ready. */
export const healthQuery = queryOptions({
  queryKey: ['console', 'health'],
  queryFn: async (): Promise<Schema<'Ready'>> => {
    const { data, error, response } = await api.GET('/readyz')
    const told = data ?? error
    if (told && 'database' in told) return told
    throw new ApiError(response.status, undefined)
  },
  refetchInterval: 10_000,
})
