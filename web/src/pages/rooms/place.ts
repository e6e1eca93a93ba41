import { infiniteQueryOptions, queryOptions, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'

/** Where one talks: a room by its id, or the direct messages with an agent by its slug. */
export type Place = { kind: 'room'; id: string } | { kind: 'dm'; slug: string }

export type Said = Schema<'UtteranceOut'>
export type Tier = 'session' | 'day' | 'week' | 'thread'
export type Utterance = {
  text: string
  agent?: string
  thread_id?: string
  trace_id?: string
  attachments?: Record<string, unknown>[]
}

const PAGE = 50
const MADE_LATER = 5_000 // milliseconds: a job makes them, a moment after something was said

export const nameOf = (place: Place) => (place.kind === 'room' ? place.id : `dm:${place.slug}`)

export const roomsQuery = queryOptions({
  queryKey: ['rooms', 'list'],
  queryFn: () => ok(api.GET('/v1/rooms', { params: { query: { limit: 200 } } })),
})

export const agentsQuery = queryOptions({
  queryKey: ['rooms', 'agents'],
  queryFn: () => ok(api.GET('/v1/agents', { params: { query: { limit: 200 } } })),
})

/** Rooms that one is asked to join; somebody else sends them. */
export const invitationsQuery = queryOptions({
  queryKey: ['rooms', 'invitations'],
  queryFn: () => ok(api.GET('/v1/invitations', { params: { query: { limit: 200 } } })),
  refetchInterval: 30_000,
})

/** The latest page first, so that earlier ones can be loaded; what is shown is turned round. */
export const messagesQuery = (place: Place, thread: string | null) =>
  infiniteQueryOptions({
    queryKey: ['rooms', nameOf(place), 'messages', thread],
    queryFn: ({ pageParam }) => {
      const query = { limit: PAGE, cursor: pageParam, latest_first: true }
      return place.kind === 'room'
        ? ok(
            api.GET('/v1/rooms/{room_id}/messages', {
              params: { path: { room_id: place.id }, query: { ...query, thread_id: thread } },
            }),
          )
        : ok(api.GET('/v1/dms/{slug}/messages', { params: { path: { slug: place.slug }, query } }))
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) > 2 ? false : 10_000),
  })

export const threadsQuery = (room: string) =>
  queryOptions({
    queryKey: ['rooms', room, 'threads'],
    queryFn: () =>
      ok(
        api.GET('/v1/rooms/{room_id}/threads', {
          params: { path: { room_id: room }, query: { limit: 100 } },
        }),
      ),
  })

export function say(place: Place, body: Utterance): Promise<Said> {
  const given = { attachments: [], ...body }
  return place.kind === 'room'
    ? ok(api.POST('/v1/rooms/{room_id}/messages', { params: { path: { room_id: place.id } }, body: given }))
    : ok(api.POST('/v1/dms/{slug}/messages', { params: { path: { slug: place.slug } }, body: given }))
}

export function compose(place: Place, agent: string, text: string): Promise<Schema<'ComposedOut'>> {
  const message = { text }
  return place.kind === 'room'
    ? ok(
        api.POST('/v1/rooms/{room_id}/compose', {
          params: { path: { room_id: place.id } },
          body: { agent, message },
        }),
      )
    : ok(api.POST('/v1/dms/{slug}/compose', { params: { path: { slug: place.slug } }, body: { message } }))
}

export const summariesQuery = (place: Place, tier: Tier | undefined) =>
  infiniteQueryOptions({
    queryKey: ['rooms', nameOf(place), 'summaries', tier],
    queryFn: ({ pageParam }) => {
      const query = { tier, limit: PAGE, cursor: pageParam }
      return place.kind === 'room'
        ? ok(api.GET('/v1/rooms/{room_id}/summaries', { params: { path: { room_id: place.id }, query } }))
        : ok(api.GET('/v1/dms/{slug}/summaries', { params: { path: { slug: place.slug }, query } }))
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: MADE_LATER,
  })

export const memoriesQuery = (place: Place, agent: string | undefined, superseded: boolean) =>
  infiniteQueryOptions({
    queryKey: ['rooms', nameOf(place), 'memories', agent, superseded],
    queryFn: ({ pageParam }) => {
      const query = { limit: PAGE, cursor: pageParam, superseded }
      return place.kind === 'room'
        ? ok(
            api.GET('/v1/rooms/{room_id}/memories', {
              params: { path: { room_id: place.id }, query: { ...query, agent } },
            }),
          )
        : ok(api.GET('/v1/dms/{slug}/memories', { params: { path: { slug: place.slug }, query } }))
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: MADE_LATER,
  })

/** What agents know of a user, wherever they talk. */
export const profileQuery = (user: string, superseded: boolean) =>
  infiniteQueryOptions({
    queryKey: ['rooms', 'profile', user, superseded],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/v1/profiles/{user_id}/memories', {
          params: { path: { user_id: user }, query: { limit: PAGE, cursor: pageParam, superseded } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })

export const landmarksQuery = (place: Place, superseded: boolean) =>
  queryOptions({
    queryKey: ['rooms', nameOf(place), 'landmarks', superseded],
    queryFn: () => {
      const query = { superseded }
      return place.kind === 'room'
        ? ok(api.GET('/v1/rooms/{room_id}/landmarks', { params: { path: { room_id: place.id }, query } }))
        : ok(api.GET('/v1/dms/{slug}/landmarks', { params: { path: { slug: place.slug }, query } }))
    },
  })

export function pin(place: Place, text: string, supersedes: string[]): Promise<Schema<'LandmarkOut'>> {
  const body = { text, supersedes, supersede: 'auto' as const }
  return place.kind === 'room'
    ? ok(api.POST('/v1/rooms/{room_id}/landmarks', { params: { path: { room_id: place.id } }, body }))
    : ok(api.POST('/v1/dms/{slug}/landmarks', { params: { path: { slug: place.slug } }, body }))
}

/** After a place was deleted: where one can talk is asked for anew, and nothing of what is gone. */
export function useRefreshPlaces() {
  const client = useQueryClient()
  return async () => {
    await client.invalidateQueries({ queryKey: ['rooms'], refetchType: 'none' })
    await Promise.all([
      client.refetchQueries({ queryKey: roomsQuery.queryKey }),
      client.refetchQueries({ queryKey: agentsQuery.queryKey }),
    ])
  }
}

/** After anything was changed: all that is known of rooms is asked for anew. */
export function useRefresh() {
  const client = useQueryClient()
  return () => client.invalidateQueries({ queryKey: ['rooms'] })
}
