import { Anchor } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from 'react-router'
import { useFormat } from '@/app/session'
import { useCapsuleWords } from './capsules.words'
import { usageQuery } from './queries'

/** Says quietly that something was saved, how many there are now, and where. */
export function useSavedToast() {
  const words = useCapsuleWords()
  const format = useFormat()
  const client = useQueryClient()
  const go = useNavigate()
  return async (capsule: { id: string; title: string }, merged: boolean) => {
    const { count } = await client.fetchQuery(usageQuery)
    const path = `/dashboard/recall?capsule=${capsule.id}`
    const said = notifications.show({
      message: (
        <>
          {merged
            ? words('merged', { title: capsule.title })
            : words('saved', { count, number: format.number(count) })}{' '}
          <Anchor
            href={path}
            size="sm"
            fw={500}
            // Notifications stand outside the router, so its Link can't be used.
            onClick={(event) => {
              event.preventDefault()
              notifications.hide(said)
              void go(path)
            }}
          >
            {words('look')}
          </Anchor>
        </>
      ),
      closeButtonProps: { 'aria-label': words('close') },
    })
  }
}
