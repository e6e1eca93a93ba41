import { Accordion, Badge, Button, Group, SegmentedControl, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { useKinds } from '@/parts/capsules/kinds'
import { CAPSULES, replace } from '@/parts/capsules/queries'
import { Failed } from '@/parts/Failed'
import { Markdown } from '@/parts/Markdown'
import { Skeletons } from '@/parts/Skeletons'
import { useRecallWords } from '../recall.words'
import { Compared } from './Compared'

const CHANGES = {
  created: 'created',
  updated: 'updated',
  deleted: 'wasDeleted',
  restored: 'restored',
  merged: 'merged',
  unmerged: 'unmerged',
  recovered: 'recovered',
  imported: 'imported',
  cooled: 'moved',
} as const

type Version = Schema<'VersionOut'>

/** Every version; an old one is restored by writing it again, so nothing is lost. */
export function History({ capsule, onRestored }: { capsule: Schema<'CapsuleOut'>; onRestored: () => void }) {
  const words = useRecallWords()
  const format = useFormat()
  const kinds = useKinds()
  const client = useQueryClient()
  const [opened, setOpened] = useState<string | null>(null)
  const [how, setHow] = useState('text')
  const params = { path: { capsule_id: capsule.id } }
  const found = useQuery({
    queryKey: [...CAPSULES, 'history', capsule.id, capsule.version],
    queryFn: ({ signal }) => ok(api.GET('/v1/memory/capsules/{capsule_id}/history', { params, signal })),
  })
  const settle = (after: Schema<'CapsuleOut'>, message: string) => {
    client.setQueryData([...CAPSULES, 'one', capsule.id], after)
    void replace(client, capsule.id, after)
    notifications.show({ message })
    onRestored()
  }
  const restoring = useMutation({
    mutationFn: ({ title, content_md, tags, kind }: Version) =>
      ok(
        api.PATCH('/v1/memory/capsules/{capsule_id}', {
          params,
          body: { title, content_md, tags, kind: kind || undefined },
        }),
      ),
    onSuccess: (after, { version }) => settle(after, words('restoredVersion', { number: version })),
  })
  const parting = useMutation({
    mutationFn: ({ version }: Version) =>
      ok(api.POST('/v1/memory/capsules/{capsule_id}/unmerge', { params, body: { version } })),
    onSuccess: (after) => settle(after, words('mergeUndone')),
  })
  if (found.isPending) return <Skeletons lines={3} height={44} />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const isNow = (one: Version) =>
    one.title === capsule.title &&
    one.content_md === capsule.content_md &&
    one.kind === capsule.kind &&
    one.tags.join('\n') === capsule.tags.join('\n')
  return (
    <Accordion value={opened} onChange={setOpened} order={3} variant="contained">
      {found.data.items.map((one, place) => {
        const before = found.data.items[place + 1]
        return (
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
                  {said(one)} · {format.minute(one.changed_at)}
                </Text>
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              {opened === String(one.version) && (
                <>
                  {before && (
                    <SegmentedControl
                      size="xs"
                      mb="sm"
                      aria-label={words('howShown')}
                      value={how}
                      onChange={setHow}
                      data={[
                        { value: 'text', label: words('asText') },
                        { value: 'changes', label: words('asChanges') },
                      ]}
                    />
                  )}
                  {how === 'changes' && before ? (
                    <>
                      <Facts before={before} after={one} label={kinds.label} />
                      <Compared before={before.content_md} after={one.content_md} />
                    </>
                  ) : (
                    <>
                      <Text fw={600}>{one.title}</Text>
                      {one.tags.length > 0 && (
                        <Text size="sm" c="dimmed" mb="xs">
                          {one.tags.map((tag) => `#${tag}`).join(' ')}
                        </Text>
                      )}
                      <Markdown text={one.content_md} />
                    </>
                  )}
                  <Group gap="xs" mt="sm">
                    {!isNow(one) && (
                      <Button
                        size="xs"
                        variant="light"
                        loading={restoring.isPending}
                        onClick={() => restoring.mutate(one)}
                      >
                        {words('restoreVersion')}
                      </Button>
                    )}
                    {(one.merged?.length ?? 0) > 0 && (
                      <Button
                        size="xs"
                        variant="light"
                        loading={parting.isPending}
                        onClick={() => parting.mutate(one)}
                      >
                        {words('undoMerge')}
                      </Button>
                    )}
                  </Group>
                </>
              )}
            </Accordion.Panel>
          </Accordion.Item>
        )
      })}
    </Accordion>
  )

  function said({ change, merged = [] }: Version): string {
    if (merged.length > 0)
      return words('tookIn', { titles: merged.map((one) => `“${one.title}”`).join(', ') })
    return change in CHANGES ? words(CHANGES[change as keyof typeof CHANGES]) : change
  }
}

/** Title, kind and tags, where they are others than before. */
function Facts({
  before,
  after,
  label,
}: {
  before: Version
  after: Version
  label: (kind: string) => string
}) {
  const pairs = [
    [before.title, after.title],
    [label(before.kind), label(after.kind)],
    [before.tags.map((tag) => `#${tag}`).join(' '), after.tags.map((tag) => `#${tag}`).join(' ')],
  ].filter(([was, is]) => was !== is)
  return pairs.map(([was = '', is = '']) => (
    <div key={`${was} ${is}`} style={{ marginBottom: 8 }}>
      <Compared before={was} after={is} />
    </div>
  ))
}
