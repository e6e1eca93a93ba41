import { ActionIcon, Button, FileButton, Loader, Stack, Text, UnstyledButton } from '@mantine/core'
import { IconDownload, IconTrash, IconUpload, IconX } from '@tabler/icons-react'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { type DragEvent, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Action } from '@/parts/chat/Action'
import { useChatWords } from '@/parts/chat/chat.words'
import { filesKey, type Workspace } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { offerUndo } from '@/parts/offerUndo'
import { useShown, useUntilShown } from '@/parts/shown'
import { Waiting } from '@/parts/Waiting'
import { Artifacts } from './Artifacts'
import { FileSheet } from './FileSheet'
import { usePlaygroundWords } from './playground.words'
import classes from './Side.module.css'
import { useUploads } from './uploads'

const KINDS = '.txt,.md,.markdown,.html,.htm,.pdf,.docx,.xlsx,.csv,.tsv,.pptx,.epub,.eml'

/** The files of a workspace, and below them its artifacts. */
export function Files({ workspace }: { workspace: Workspace }) {
  const words = usePlaygroundWords()
  const [over, setOver] = useState(false)
  const { uploads, upload, dismiss } = useUploads(workspace.id)
  const mayAdd = workspace.role !== 'viewer'
  const files = useInfiniteQuery({
    queryKey: filesKey(workspace.id),
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/files', {
          params: { path: { workspace_id: workspace.id }, query: { limit: 50, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const items = files.data?.pages.flatMap((page) => page.items) ?? []
  useUntilShown('doc', files, items)
  const drag = (event: DragEvent, now: boolean) => {
    if (!mayAdd || !event.dataTransfer.types.includes('Files')) return
    event.preventDefault()
    setOver(now)
  }
  return (
    <Stack
      gap="md"
      onDragOver={(event) => drag(event, true)}
      onDragLeave={(event) => drag(event, false)}
      onDrop={(event) => {
        drag(event, false)
        if (mayAdd) void upload(event.dataTransfer.files)
      }}
    >
      {mayAdd && (
        <div className={over ? `${classes.drop} ${classes.over}` : classes.drop}>
          <Text size="sm" c={over ? undefined : 'dimmed'} mb="xs">
            {words(over ? 'dropNow' : 'dropHere')}
          </Text>
          <FileButton onChange={(chosen) => void upload(chosen)} accept={KINDS} multiple>
            {(props) => (
              <Button
                {...props}
                size="xs"
                variant="light"
                leftSection={<IconUpload size={15} stroke={1.8} aria-hidden />}
              >
                {words('upload')}
              </Button>
            )}
          </FileButton>
        </div>
      )}
      <div aria-live="polite">
        {uploads.map((one) => (
          <div key={one.number} className={classes.item}>
            <div className={classes.grow}>
              <Text size="sm" truncate>
                {one.name}
              </Text>
              <Text
                size="xs"
                c={one.error ? undefined : 'dimmed'}
                className={one.error ? classes.refused : undefined}
              >
                {one.error ?? words('uploading')}
              </Text>
            </div>
            {one.error ? (
              <Action icon={IconX} label={words('dismiss')} onClick={() => dismiss(one.number)} />
            ) : (
              <Loader size="xs" />
            )}
          </div>
        ))}
        {files.isPending && <Waiting />}
        {files.isError && <Failed error={files.error} retry={() => files.refetch()} />}
        {files.isSuccess && items.length === 0 && uploads.length === 0 && (
          <Text size="sm" c="dimmed">
            {words('noFiles')}
          </Text>
        )}
        {items.map((one) => (
          <FileRow key={one.id} file={one} mayChange={mayAdd} />
        ))}
        {files.hasNextPage && (
          <Button variant="subtle" size="compact-sm" onClick={() => files.fetchNextPage()}>
            {words('more')}
          </Button>
        )}
      </div>
      <Artifacts workspace={workspace} />
    </Stack>
  )
}

function FileRow({ file, mayChange }: { file: Schema<'DocumentOut'>; mayChange: boolean }) {
  const words = usePlaygroundWords()
  const said = useChatWords()
  const format = useFormat()
  const client = useQueryClient()
  const params = { path: { workspace_id: file.workspace_id, document_id: file.id } }
  const refresh = () => client.invalidateQueries({ queryKey: filesKey(file.workspace_id) })
  const restore = useMutation({
    mutationFn: () =>
      ok(api.POST('/chat/api/workspaces/{workspace_id}/files/{document_id}/restore', { params })),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () => ok(api.DELETE('/chat/api/workspaces/{workspace_id}/files/{document_id}', { params })),
    onSuccess: () => {
      offerUndo(words('fileDeleted', { name: file.name }), said('undo'), () => restore.mutate())
      return refresh()
    },
  })
  const [box, shown] = useShown<HTMLDivElement>(file.id)
  const [opened, setOpened] = useState(false)
  const download = words('download', { name: file.name })
  return (
    <div ref={box} className={classes.item} data-shown={shown || undefined}>
      <UnstyledButton className={classes.grow} data-row onClick={() => setOpened(true)}>
        <Text size="sm" truncate title={file.name}>
          {file.name}
        </Text>
        <Text size="xs" c="dimmed">
          {[
            kindOf(file.name),
            format.bytes(file.size_bytes),
            ...(file.version > 1 ? [words('version', { version: file.version })] : []),
            format.day(file.updated_at),
          ].join(' · ')}
        </Text>
        <Text size="xs" c="dimmed">
          {file.chunks > 0 ? words('parts', { count: file.chunks }) : words('noText')}
        </Text>
      </UnstyledButton>
      <ActionIcon
        component="a"
        href={`/chat/api/workspaces/${file.workspace_id}/files/${file.id}/content`}
        download={file.name}
        variant="subtle"
        color="gray"
        aria-label={download}
        title={download}
      >
        <IconDownload size={16} stroke={1.6} aria-hidden />
      </ActionIcon>
      {mayChange && (
        <Action
          icon={IconTrash}
          label={words('deleteNamed', { name: file.name })}
          busy={remove.isPending}
          onClick={() => remove.mutate()}
        />
      )}
      {opened && <FileSheet file={file} mayChange={mayChange} onClose={() => setOpened(false)} />}
    </div>
  )
}

function kindOf(name: string): string {
  return /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toUpperCase() ?? ''
}
