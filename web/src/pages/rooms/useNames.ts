import { useQuery } from '@tanstack/react-query'
import { useMe } from '@/app/session'
import { agentsQuery, roomsQuery } from './place'
import { useRoomsWords } from './rooms.words'

/** What people and agents are called, by their ids: those of all rooms that one is in. */
export function useNames() {
  const words = useRoomsWords()
  const me = useMe()
  const rooms = useQuery(roomsQuery)
  const agents = useQuery(agentsQuery)
  const person = (id: string | null): string | undefined => {
    if (!id || id === '*') return undefined
    if (id === me?.user?.id) return words('you')
    for (const room of rooms.data?.items ?? []) {
      const one = room.participants.find((known) => known.user_id === id)
      if (one) return one.name || one.email
    }
    return undefined
  }
  const agent = (slug: string | null): string | undefined =>
    !slug || slug === '*' ? undefined : (agents.data?.items.find((one) => one.slug === slug)?.name ?? slug)
  return { person, agent }
}
