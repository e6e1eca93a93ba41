import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { Confirm } from '../Confirm'
import { Section } from '../Section'
import { useSettingsWords } from '../settings.words'

const WORD = 'delete-all'

export function DeleteAll() {
  const words = useSettingsWords()
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const wipe = useMutation({
    mutationFn: () => ok(api.POST('/v1/memory/capsules/delete-all', { body: { confirm: WORD } })),
    onSuccess: ({ deleted }) => {
      void client.invalidateQueries({ queryKey: ['capsules'] })
      void client.invalidateQueries({ queryKey: ['memory'] })
      const message = deleted ? words('wipeDone', { count: deleted }) : words('wipeNone')
      notifications.show({ message, autoClose: 8000 })
    },
    onSettled: () => setAsking(false),
  })
  return (
    <Section title={words('wipe')} about={words('wipeHow')}>
      <Button
        variant="default"
        c="light-dark(var(--mantine-color-red-9), var(--mantine-color-red-4))"
        onClick={() => setAsking(true)}
      >
        {words('wipeDo')}
      </Button>
      <Confirm
        opened={asking}
        title={words('wipeSure')}
        label={words('wipe')}
        typed={WORD}
        busy={wipe.isPending}
        onConfirm={() => wipe.mutate()}
        onClose={() => setAsking(false)}
      >
        {words('wipeHow')}
      </Confirm>
    </Section>
  )
}
