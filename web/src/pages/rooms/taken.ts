import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { landmarksQuery, memoriesQuery, type Place } from './place'

export type Taken = { id: string; text: string; panel: 'landmarks' | 'memories' }

/** What was taken from each message, as far as it holds; what several agents remember alike counts once. */
export function useTaken(place: Place): Map<string, Taken[]> {
  const landmarks = useQuery(landmarksQuery(place, false))
  const memories = useInfiniteQuery(memoriesQuery(place, undefined, false))
  return useMemo(() => {
    const taken = new Map<string, Taken[]>()
    const note = (source: string | null, one: Taken) => {
      if (!source) return
      const before = taken.get(source) ?? []
      if (!before.some((known) => known.text === one.text)) taken.set(source, [...before, one])
    }
    for (const { source_message_id, id, text } of landmarks.data?.items ?? [])
      note(source_message_id, { id, text, panel: 'landmarks' })
    for (const { source_message_id, id, text } of memories.data?.pages.flatMap((page) => page.items) ?? [])
      note(source_message_id, { id, text, panel: 'memories' })
    return taken
  }, [landmarks.data, memories.data])
}
