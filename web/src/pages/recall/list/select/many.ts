import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { refresh } from '@/parts/capsules/queries'
import { offerUndo } from '@/parts/offerUndo'
import { failed } from '@/parts/told'
import { usePlace } from '../../place'
import { useRecallWords } from '../../recall.words'

const SLICE = 100 // capsules a call: so there is progress to see, and none takes long

type Changes = Omit<Schema<'ChangeManyIn'>, 'ids'>
type Before = Schema<'ChangedOut'>

/** The same to many, slice by slice; `done` is how far it is, from 0 to 1, while it is under way. */
export function useMany() {
  const words = useRecallWords()
  const client = useQueryClient()
  const place = usePlace()
  const [done, setDone] = useState<number | null>(null)

  const each = useCallback(
    async <T>(ids: readonly string[], call: (slice: string[]) => Promise<T>): Promise<T[]> => {
      const made: T[] = []
      setDone(0)
      try {
        for (let from = 0; from < ids.length; from += SLICE) {
          made.push(await call(ids.slice(from, from + SLICE)))
          setDone(Math.min(1, (from + SLICE) / ids.length))
        }
      } catch (error) {
        failed(error as Error)
      } finally {
        setDone(null)
        await refresh(client)
      }
      return made
    },
    [client],
  )

  const change = useCallback(
    async (ids: readonly string[], changes: Changes, said: (count: number) => string) => {
      const post = (slice: string[], body: Changes) =>
        ok(api.POST('/v1/memory/capsules/change', { body: { ids: slice, ...body } }))
      const before = (await each(ids, (slice) => post(slice, changes))).flatMap((one) => one.items)
      if (before.length === 0) return
      const back = async () => {
        for (const [body, theirs] of reversed(changes, before))
          await each(theirs, (slice) => post(slice, body))
      }
      offerUndo(said(before.length), words('undo'), () => void back())
    },
    [each, words],
  )

  const remove = useCallback(
    async (ids: readonly string[]) => {
      if (ids.includes(place.capsule)) place.set({ capsule: null }, { replace: true })
      const gone = await each(ids, (slice) =>
        ok(api.POST('/v1/memory/capsules/delete', { body: { ids: slice } })),
      )
      const count = gone.reduce((sum, one) => sum + one.deleted, 0)
      if (count === 0) return
      offerUndo(
        words('deletedMany', { count }),
        words('undo'),
        () =>
          void each(ids, (slice) => ok(api.POST('/v1/memory/capsules/restore', { body: { ids: slice } }))),
      )
    },
    [each, place, words],
  )
  return { done, change, remove }
}

/** The calls that make them what they were: those that were alike together. */
function reversed(changes: Changes, before: readonly Before[]): [Changes, string[]][] {
  const groups = new Map<string, [Changes, string[]]>()
  for (const one of before) {
    const body: Changes = {}
    if (changes.add_tags) body.remove_tags = changes.add_tags.filter((tag) => !one.tags.includes(tag))
    if (changes.remove_tags) body.add_tags = changes.remove_tags.filter((tag) => one.tags.includes(tag))
    if (changes.kind) body.kind = one.kind
    if ('project_id' in changes) body.project_id = one.project_id
    const key = JSON.stringify(body)
    const group = groups.get(key)
    if (group) group[1].push(one.id)
    else groups.set(key, [body, [one.id]])
  }
  return [...groups.values()]
}
