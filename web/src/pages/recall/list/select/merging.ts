import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { CAPSULES, refresh, replace } from '@/parts/capsules/queries'
import { offerUndo } from '@/parts/offerUndo'
import { failed } from '@/parts/told'
import { usePlace } from '../../place'
import { useRecallWords } from '../../recall.words'

/** Several into one, with a way back: those that went into it come out of the trash, and it is as it was. */
export function useMerging(onDone?: () => void) {
  const words = useRecallWords()
  const client = useQueryClient()
  const place = usePlace()
  return useMutation({
    mutationFn: ({ ids, into }: { ids: readonly string[]; into: string }) =>
      ok(api.POST('/v1/memory/capsules/merge', { body: { ids: [...ids], into } })),
    onSuccess: async (capsule, { ids, into }) => {
      onDone?.()
      if (ids.includes(place.capsule) && place.capsule !== into)
        place.set({ capsule: into }, { replace: true })
      client.setQueryData([...CAPSULES, 'one', into], capsule)
      const undo = async () => {
        try {
          const params = { path: { capsule_id: into } }
          const body = { version: capsule.version }
          const back = await ok(api.POST('/v1/memory/capsules/{capsule_id}/unmerge', { params, body }))
          client.setQueryData([...CAPSULES, 'one', into], back)
          await replace(client, into, back)
        } catch (error) {
          failed(error as Error)
        }
      }
      offerUndo(words('mergedIn', { title: capsule.title }), words('undo'), () => void undo())
      await refresh(client)
    },
  })
}
