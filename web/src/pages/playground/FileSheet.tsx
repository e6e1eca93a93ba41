import { Anchor, Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconDownload } from '@tabler/icons-react'
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { filesKey } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { usePlaygroundWords } from './playground.words'
import classes from './Side.module.css'

/** One file: the text that was found in it, part by part, and every version to take and to bring back. */
export function FileSheet({
  file,
  mayChange,
  onClose,
}: {
  file: Schema<'DocumentOut'>
  mayChange: boolean
  onClose: () => void
}) {
  const words = usePlaygroundWords()
  const format = useFormat()
  const client = useQueryClient()
  const [version, setVersion] = useState<number>()
  const path = { workspace_id: file.workspace_id, document_id: file.id }
  // With its version: what was asked for just before a newer one came must not stand in the newer one's place.
  const key = [...filesKey(file.workspace_id), file.id, file.version]
  const history = useQuery({
    queryKey: [...key, 'history'],
    queryFn: async () =>
      (
        await ok(
          api.GET('/chat/api/workspaces/{workspace_id}/files/{document_id}/history', { params: { path } }),
        )
      ).items,
  })
  const parts = useInfiniteQuery({
    queryKey: [...key, 'chunks'],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/files/{document_id}/chunks', {
          params: { path, query: { beyond: pageParam, limit: 30 } },
        }),
      ),
    initialPageParam: -1,
    getNextPageParam: (page) => page.next_part ?? undefined,
  })
  const revert = useMutation({
    mutationFn: (to: number) =>
      ok(
        api.POST('/chat/api/workspaces/{workspace_id}/files/{document_id}/revert', {
          params: { path, query: { version: to } },
        }),
      ),
    onSuccess: async (_made, to) => {
      await client.invalidateQueries({ queryKey: filesKey(file.workspace_id) })
      setVersion(undefined)
      notifications.show({ message: words('reverted', { version: to }), withCloseButton: false })
    },
  })
  const versions = history.data ?? []
  const newest = versions[0]?.version
  const shown = version ?? newest
  const old = shown !== undefined && shown !== newest
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={file.name}
      closeButtonProps={{ 'aria-label': words('cancel') }}
    >
      <Stack gap="sm">
        <Group justify="space-between" align="flex-end">
          <Select
            label={words('versions')}
            data={versions.map((one) => ({
              value: String(one.version),
              label: [
                words('version', { version: one.version }),
                format.minute(one.changed_at),
                format.bytes(one.size_bytes),
                ...(one.version === newest ? [words('current')] : []),
              ].join(' · '),
            }))}
            value={String(shown ?? '')}
            onChange={(chosen) => setVersion(chosen ? Number(chosen) : undefined)}
            allowDeselect={false}
            w={380}
            maw="100%"
          />
          <Group gap="xs">
            <Button
              component="a"
              href={`/chat/api/workspaces/${file.workspace_id}/files/${file.id}/content${old ? `?version=${shown}` : ''}`}
              download={file.name}
              variant="default"
              leftSection={<IconDownload size={16} stroke={1.6} aria-hidden />}
            >
              {words('downloadThis')}
            </Button>
            {old && mayChange && (
              <Button variant="light" loading={revert.isPending} onClick={() => revert.mutate(shown)}>
                {words('revert')}
              </Button>
            )}
          </Group>
        </Group>
        <Text size="xs" c="dimmed">
          {words(old ? 'oldVersion' : 'readParts')}
        </Text>
        {parts.isPending && <Skeletons lines={3} />}
        {parts.isError && <Failed error={parts.error} retry={() => parts.refetch()} />}
        {!old &&
          parts.data?.pages
            .flatMap((page) => page.items)
            .map((one) => (
              <article key={one.part} className={classes.part}>
                <Text size="xs" c="dimmed" mb={2}>
                  {where(one.place, (page) => words('page', { page })) ||
                    words('part', { part: one.part + 1 })}
                </Text>
                <Text size="sm" className={classes.content}>
                  {one.text}
                </Text>
              </article>
            ))}
        {!old && parts.hasNextPage && (
          <Anchor component="button" size="sm" onClick={() => parts.fetchNextPage()}>
            {words('more')}
          </Anchor>
        )}
      </Stack>
    </Modal>
  )
}

function where(place: Record<string, number | string> | null, page: (page: string) => string): string {
  const parts = [
    place?.page !== undefined && page(String(place.page)),
    place?.heading && String(place.heading),
  ]
  return parts.filter(Boolean).join(' · ')
}
