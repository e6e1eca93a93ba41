import { queryOptions } from '@tanstack/react-query'
import { api, ok } from '@/api/client'

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: () => ok(api.GET('/v1/projects', { params: { query: { limit: 100 } } })),
  staleTime: 60_000,
})
