import { Accordion, Badge, Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { CAPSULES, replace } from '@/parts/capsules/queries'
import { Failed } from '@/parts/Failed'
import { Markdown } from '@/parts/Markdown'
import { Waiting } from '@/parts/Waiting'
import { useRecallWords } from '../recall.words'

const CHANGES = {
  created: 'created',
  updated: 'updated',
  deleted: 'wasDeleted',
  restored: 'restored',
  merged: 'merged',
  recovered: 'recovered',
  imported: 'imported',
  cooled: 'moved',
} as const

type Version = Schema<'VersionOut'>

/** Every version; an old one is restored by writing it again, so nothing is lost. */
export function History({ capsule, onRestored }: { capsule: Schema<'CapsuleOut'>; onRestored: () => void }) {
  const words = useRecallWords()
  const format = useFormat()
  const client = useQueryClient()
  const [opened, setOpened] = useState<string | null>(null)
  const found = useQuery({
    queryKey: [...CAPSULES, 'history', capsule.id, capsule.version],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/v1/memory/capsules/{capsule_id}/history', {
          params: { path: { capsule_id: capsule.id } },
          signal,
        }),
      ),
  })
  const restoring = useMutation({
    mutationFn: ({ title, content_md, tags }: Version) =>
      ok(
        api.PATCH('/v1/memory/capsules/{capsule_id}', {
          params: { path: { capsule_id: capsule.id } },
          body: { title, content_md, tags },
        }),
      ),
    onSuccess: (after, { version }) => {
      client.setQueryData([...CAPSULES, 'one', capsule.id], after)
      replace(client, capsule.id, after)
      notifications.show({
        message: words('restoredVersion', { number: version }),
        closeButtonProps: { 'aria-label': words('close') },
      })
      onRestored()
    },
  })
  if (found.isPending) return <Waiting />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const isNow = (one: Version) =>
    one.title === capsule.title &&
    one.content_md === capsule.content_md &&
    one.tags.join('\n') === capsule.tags.join('\n')
  return (
    <Accordion value={opened} onChange={setOpened} order={3} variant="contained">
      {found.data.items.map((one, place) => (
        <Accordion.Item key={one.version} value={String(one.version)}>
          <Accordion.Control>
            <Group gap="xs">
              <Text fw={500} size="sm">
                {words('version', { number: one.version })}
              </Text>
              {place === 0 && (
                <Badge variant="outline" size="sm">
                  {words('current')}
                </Badge>
              )}
              <Text size="sm" c="dimmed">
                {said(one.change)} · {format.minute(one.changed_at)}
              </Text>
            </Group>
          </Accordion.Control>
          <Accordion.Panel>
            {opened === String(one.version) && (
              <>
                <Text fw={600}>{one.title}</Text>
                {one.tags.length > 0 && (
                  <Text size="sm" c="dimmed" mb="xs">
                    {one.tags.map((tag) => `#${tag}`).join(' ')}
                  </Text>
                )}
                <Markdown text={one.content_md} />
                {!isNow(one) && (
                  <Button
                    mt="sm"
                    size="xs"
                    variant="light"
                    loading={restoring.isPending}
                    onClick={() => restoring.mutate(one)}
                  >
                    {words('restoreVersion')}
                  </Button>
                )}
              </>
            )}
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )

  function said(change: string): string {
    return change in CHANGES ? words(CHANGES[change as keyof typeof CHANGES]) : change
  }
}
