import { Anchor, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from 'react-router'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { linkTo, useWhere } from '@/parts/things/things'
import { failed } from '@/parts/told'
import type { Gone } from './trash'
import { useTrashWords } from './trash.words'

/** Back to where they were; says where that is, and why what stays here does. */
export function useRestore(onDone: () => void) {
  const words = useTrashWords()
  const format = useFormat()
  const whereOf = useWhere()
  const client = useQueryClient()
  const go = useNavigate()
  return useMutation({
    mutationFn: (things: Gone[]) =>
      ok(api.POST('/v1/trash/restore', { body: { items: things.map(({ kind, id }) => ({ kind, id })) } })),
    onError: failed,
    onSettled: async () => {
      onDone()
      await client.invalidateQueries()
    },
    onSuccess: ({ items }, things) => {
      const back = things.filter((_, place) => items[place]?.restored)
      const [only] = back
      if (only) {
        const where = whereOf(only.place)
        const name = nameOf(only) || words('nameless')
        const message =
          back.length > 1
            ? words('areBack', { count: back.length, number: format.number(back.length) })
            : where
              ? words('isBack', { where, name })
              : words('isBackHere', { name })
        const to = linkTo(only.kind, only.id, only.place)
        notifications.show({
          autoClose: 10_000,
          withCloseButton: false,
          message: (
            <>
              <Text size="sm" lineClamp={3} component="span">
                {message}
              </Text>{' '}
              {back.length === 1 && (
                <Anchor
                  size="sm"
                  href={to}
                  onClick={(event) => {
                    event.preventDefault()
                    void go(to)
                  }}
                >
                  {words('goThere')}
                </Anchor>
              )}
            </>
          ),
        })
      }
      const refused = items.filter((one) => !one.restored)
      if (refused.length > 0) {
        const why = [...new Set(refused.map((one) => one.message))].join(' ')
        failed(
          new Error(words('someNot', { count: refused.length, number: format.number(refused.length), why })),
        )
      }
    },
  })
}

/** What it is called: its title, an item's namespace and key, or how its text begins. */
export function nameOf(gone: Gone): string {
  if (gone.key) return [...(gone.namespace ?? []), gone.key].join(' / ')
  const said = gone.kind === 'message' || gone.kind === 'statement'
  return (said ? `${gone.title}: ${gone.text}` : gone.title || gone.text).slice(0, 160)
}
