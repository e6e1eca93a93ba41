import { Button, Group, Text, Title, UnstyledButton } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Action } from '@/parts/chat/Action'
import { useChatWords } from '@/parts/chat/chat.words'
import { artifactsKey, type Workspace } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { offerUndo } from '@/parts/offerUndo'
import { Artifact } from './Artifact'
import { NewArtifact } from './NewArtifact'
import { usePlaygroundWords } from './playground.words'
import classes from './Side.module.css'

/** Texts that are worked on in this workspace. */
export function Artifacts({ workspace }: { workspace: Workspace }) {
  const words = usePlaygroundWords()
  const [params, change] = useAddress()
  const shown = params.get('show')?.match(/^art_[a-z0-9]{24}$/)?.[0]
  const [chosen, setOpen] = useState<string>()
  const open = chosen ?? shown
  const [making, setMaking] = useState(false)
  const mayChange = workspace.role !== 'viewer'
  const artifacts = useInfiniteQuery({
    queryKey: artifactsKey(workspace.id),
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/chat/api/workspaces/{workspace_id}/artifacts', {
          params: { path: { workspace_id: workspace.id }, query: { limit: 50, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const items = artifacts.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <section aria-labelledby="artifacts">
      <Group justify="space-between" mb={4}>
        <Title order={3} size="h6" id="artifacts">
          {words('artifacts')}
        </Title>
        {mayChange && (
          <Button
            size="compact-xs"
            variant="light"
            leftSection={<IconPlus size={14} stroke={1.8} aria-hidden />}
            onClick={() => setMaking(true)}
          >
            {words('newArtifact')}
          </Button>
        )}
      </Group>
      {artifacts.isError && <Failed error={artifacts.error} retry={() => artifacts.refetch()} />}
      {artifacts.isSuccess && items.length === 0 && (
        <Text size="sm" c="dimmed">
          {words('noArtifacts')}
        </Text>
      )}
      {items.map((one) => (
        <ArtifactRow key={one.id} artifact={one} mayChange={mayChange} onOpen={() => setOpen(one.id)} />
      ))}
      {artifacts.hasNextPage && (
        <Button variant="subtle" size="compact-sm" onClick={() => artifacts.fetchNextPage()}>
          {words('more')}
        </Button>
      )}
      {open && (
        <Artifact
          workspace={workspace.id}
          id={open}
          mayChange={mayChange}
          onClose={() => {
            setOpen(undefined)
            if (shown) change({ show: null }, { replace: true })
          }}
        />
      )}
      {making && <NewArtifact workspace={workspace.id} onClose={() => setMaking(false)} />}
    </section>
  )
}

function ArtifactRow({
  artifact,
  mayChange,
  onOpen,
}: {
  artifact: Schema<'DocumentOut'>
  mayChange: boolean
  onOpen: () => void
}) {
  const words = usePlaygroundWords()
  const said = useChatWords()
  const format = useFormat()
  const client = useQueryClient()
  const { name, workspace_id } = artifact
  const params = { path: { workspace_id, artifact_id: artifact.id } }
  const refresh = () => client.invalidateQueries({ queryKey: artifactsKey(workspace_id) })
  const restore = useMutation({
    mutationFn: () =>
      ok(api.POST('/chat/api/workspaces/{workspace_id}/artifacts/{artifact_id}/restore', { params })),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () =>
      ok(api.DELETE('/chat/api/workspaces/{workspace_id}/artifacts/{artifact_id}', { params })),
    onSuccess: () => {
      offerUndo(words('fileDeleted', { name }), said('undo'), () => restore.mutate())
      return refresh()
    },
  })
  return (
    <div className={classes.item}>
      <UnstyledButton className={classes.grow} onClick={onOpen}>
        <Text size="sm" truncate title={name}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {words('version', { version: artifact.version })} · {format.day(artifact.updated_at)}
        </Text>
      </UnstyledButton>
      {mayChange && (
        <Action
          icon={IconTrash}
          label={words('deleteNamed', { name })}
          busy={remove.isPending}
          onClick={() => remove.mutate()}
        />
      )}
    </div>
  )
}
