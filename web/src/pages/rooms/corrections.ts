import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { type Schema, send } from '@/api/client'
import { nameOf, type Place } from './place'

/** What can be corrected of a place, or of oneself: each kind under its own word of the API. */
export type Kind = 'messages' | 'memories' | 'landmarks'
export type Trashed = Schema<'TrashedOut'>
export type Wording = {
  version: number
  change: string
  text: string
  changed_by: string | null
  changed_at: string
}

const JSON_BODY = { 'content-type': 'application/json' }

/** Where a place, or what is known of a user, lies in the API. */
export const baseOf = (place: Place | { user: string }) =>
  'user' in place
    ? `/v1/profiles/${place.user}`
    : place.kind === 'room'
      ? `/v1/rooms/${place.id}`
      : `/v1/dms/${place.slug}`

export async function reword(base: string, kind: Kind, id: string, text: string): Promise<void> {
  await send(`${base}/${kind}/${id}`, { method: 'PATCH', headers: JSON_BODY, body: JSON.stringify({ text }) })
}

export async function remove(base: string, kind: Kind, id: string): Promise<void> {
  await send(`${base}/${kind}/${id}`, { method: 'DELETE' })
}

export async function restore(base: string, kind: Kind, id: string): Promise<void> {
  await send(`${base}/${kind}/${id}/restore`, { method: 'POST' })
}

/** Superseded, it holds again. */
export async function revive(base: string, kind: Kind, id: string): Promise<void> {
  await send(`${base}/${kind}/${id}/revive`, { method: 'POST' })
}

export const wordingsQuery = (base: string, kind: Kind, id: string) =>
  queryOptions({
    queryKey: ['rooms', base, 'wordings', kind, id],
    queryFn: async () =>
      ((await (await send(`${base}/${kind}/${id}/history`)).json()) as { items: Wording[] }).items,
  })

export const trashQuery = (place: Place) =>
  infiniteQueryOptions({
    queryKey: ['rooms', nameOf(place), 'trash'],
    queryFn: async ({ pageParam }) => {
      const query = new URLSearchParams({ limit: '50', ...(pageParam && { cursor: pageParam }) })
      const answer = await send(`${baseOf(place)}/trash?${query}`)
      return (await answer.json()) as { items: Trashed[]; next_cursor: string | null }
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
