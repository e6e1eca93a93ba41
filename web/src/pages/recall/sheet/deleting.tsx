import { Anchor } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { CAPSULES, LISTS, replace } from '@/parts/capsules/queries'
import { useRecallWords } from '../recall.words'

/** Into the trash, with a way back for as long as the notice stands. */
export function useDelete(onDone: () => void) {
  const words = useRecallWords()
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ id }: Schema<'CapsuleOut'>) => {
      // What is still being asked of it would come back as not found.
      await client.cancelQueries({ queryKey: CAPSULES, predicate: (query) => query.queryKey.includes(id) })
      return ok(api.DELETE('/v1/memory/capsules/{capsule_id}', { params: { path: { capsule_id: id } } }))
    },
    onSuccess: (_, { id, title }) => {
      const lists = client.getQueriesData({ queryKey: LISTS })
      onDone()
      replace(client, id, null)
      const undo = async () => {
        notifications.hide(said)
        try {
          await ok(
            api.POST('/v1/memory/capsules/{capsule_id}/restore', { params: { path: { capsule_id: id } } }),
          )
        } catch (error) {
          notifications.show({
            color: 'red',
            message: (error as Error).message,
            closeButtonProps: { 'aria-label': words('close') },
          })
          return
        }
        for (const [key, list] of lists) client.setQueryData(key, list)
        await client.invalidateQueries({
          queryKey: CAPSULES,
          predicate: (query) => query.queryKey[1] !== 'list',
        })
      }
      const said = notifications.show({
        autoClose: 10_000,
        closeButtonProps: { 'aria-label': words('close') },
        message: (
          <>
            {words('deleted', { title })}{' '}
            <Anchor component="button" type="button" size="sm" fw={600} onClick={() => void undo()}>
              {words('undo')}
            </Anchor>
          </>
        ),
      })
    },
  })
}
