import { Button, Code, Group, Modal, Select, Stack, Textarea } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { artifactsKey } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Markdown } from '@/parts/Markdown'
import { Waiting } from '@/parts/Waiting'
import { usePlaygroundWords } from './playground.words'
import classes from './Side.module.css'

/** One artifact: any of its versions to read, and to bring back. */
export function Artifact({
  workspace,
  id,
  mayChange,
  onClose,
}: {
  workspace: string
  id: string
  mayChange: boolean
  onClose: () => void
}) {
  const words = usePlaygroundWords()
  const format = useFormat()
  const client = useQueryClient()
  const [version, setVersion] = useState<number>()
  const [edited, setEdited] = useState<string>()
  const path = { workspace_id: workspace, artifact_id: id }
  const key = [...artifactsKey(workspace), id]
  const artifact = useQuery({
    queryKey: [...key, version ?? 'newest'],
    queryFn: () =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/artifacts/{artifact_id}', {
          params: { path, query: { version } },
        }),
      ),
  })
  const history = useQuery({
    queryKey: [...key, 'history'],
    queryFn: () =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/artifacts/{artifact_id}/history', { params: { path } }),
      ),
  })
  const show = async () => {
    await client.invalidateQueries({ queryKey: artifactsKey(workspace) })
    setVersion(undefined)
    setEdited(undefined)
  }
  const revert = useMutation({
    mutationFn: (to: number) =>
      ok(
        api.POST('/chat/api/workspaces/{workspace_id}/artifacts/{artifact_id}/revert', {
          params: { path, query: { version: to } },
        }),
      ),
    onSuccess: async (_made, to) => {
      await show()
      notifications.show({ message: words('reverted', { version: to }), withCloseButton: false })
    },
  })
  const update = useMutation({
    mutationFn: (content: string) =>
      ok(
        api.PATCH('/chat/api/workspaces/{workspace_id}/artifacts/{artifact_id}', {
          params: { path },
          body: { content },
        }),
      ),
    onSuccess: show,
  })
  const versions = history.data?.items ?? []
  const newest = versions[0]?.version
  const shown = artifact.data
  const old = version !== undefined && version !== newest
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={shown?.name ?? words('artifacts')}
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
                ...(one.version === newest ? [words('current')] : []),
              ].join(' · '),
            }))}
            value={String(version ?? newest ?? '')}
            onChange={(chosen) => setVersion(chosen ? Number(chosen) : undefined)}
            allowDeselect={false}
            disabled={edited !== undefined}
            w={320}
            maw="100%"
          />
          {mayChange && shown && edited === undefined && (
            <Group gap="xs">
              {old && (
                <Button variant="light" loading={revert.isPending} onClick={() => revert.mutate(version)}>
                  {words('revert')}
                </Button>
              )}
              {!old && (
                <Button variant="default" onClick={() => setEdited(shown.content)}>
                  {words('editArtifact')}
                </Button>
              )}
            </Group>
          )}
        </Group>
        {artifact.isPending && <Waiting />}
        {artifact.isError && <Failed error={artifact.error} retry={() => artifact.refetch()} />}
        {shown && edited === undefined && (
          <div className={classes.artifact}>
            {shown.media_type === 'text/markdown' ? (
              <Markdown text={shown.content} />
            ) : (
              <Code block tabIndex={0}>
                {shown.content}
              </Code>
            )}
          </div>
        )}
        {edited !== undefined && (
          <>
            <Textarea
              label={words('artifactText')}
              value={edited}
              onChange={(event) => setEdited(event.currentTarget.value)}
              autosize
              minRows={10}
              maxRows={24}
            />
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={() => setEdited(undefined)}>
                {words('cancel')}
              </Button>
              <Button
                loading={update.isPending}
                disabled={edited.trim() === '' || edited === shown?.content}
                onClick={() => update.mutate(edited)}
              >
                {words('saveVersion')}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Modal>
  )
}
