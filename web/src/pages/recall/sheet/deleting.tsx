import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { CAPSULES, refresh, replace } from '@/parts/capsules/queries'
import { offerUndo } from '@/parts/offerUndo'
import { failed } from '@/parts/told'
import { useRecallWords } from '../recall.words'

/** Into the trash, with a way back for as long as the notice stands. */
export function useDelete(onDone: () => void) {
  const words = useRecallWords()
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ id }: { id: string; title: string }) => {
      // What is still being asked of it would come back as not found.
      await client.cancelQueries({ queryKey: CAPSULES, predicate: (query) => query.queryKey.includes(id) })
      return ok(api.DELETE('/v1/memory/capsules/{capsule_id}', { params: { path: { capsule_id: id } } }))
    },
    onSuccess: async (_, { id, title }) => {
      onDone()
      const undo = async () => {
        try {
          const back = await ok(
            api.POST('/v1/memory/capsules/{capsule_id}/restore', { params: { path: { capsule_id: id } } }),
          )
          client.setQueryData([...CAPSULES, 'one', id], back)
          await refresh(client)
        } catch (error) {
          failed(error as Error)
        }
      }
      offerUndo(words('deleted', { title }), words('undo'), () => void undo())
      await replace(client, id, null)
    },
  })
}
