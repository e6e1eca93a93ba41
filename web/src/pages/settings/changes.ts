import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { meQuery } from '@/app/session'
import { useSettingsWords } from './settings.words'

/** Changes something of the signed-in person; every page knows it at once. */
export function useChangeMe() {
  const client = useQueryClient()
  const words = useSettingsWords()
  return useMutation({
    mutationFn: (body: Schema<'MeChange'>) => ok(api.PATCH('/v1/me', { body })),
    scope: { id: 'me' }, // one after the other: each answers with all of the person, and an older answer must not win
    onSuccess: (user) => {
      client.setQueryData(meQuery.queryKey, (me) => me && { ...me, user })
      notifications.show({ message: words('saved'), autoClose: 2000 })
    },
  })
}

export function useChangeAccount() {
  const client = useQueryClient()
  const words = useSettingsWords()
  return useMutation({
    mutationFn: (body: Schema<'AccountIn'>) => ok(api.PATCH('/v1/account', { body })),
    onSuccess: (account) => {
      client.setQueryData(meQuery.queryKey, (me) => me && { ...me, account })
      notifications.show({ message: words('saved'), autoClose: 2000 })
    },
  })
}
