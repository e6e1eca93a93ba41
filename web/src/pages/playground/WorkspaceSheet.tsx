import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok } from '@/api/client'
import { Aside } from '@/parts/Aside'
import { useChatWords } from '@/parts/chat/chat.words'
import { type Workspace, workspaceName, workspacesQuery } from '@/parts/chat/workspace'
import { offerUndo } from '@/parts/offerUndo'
import { Members } from './Members'
import { usePlaygroundWords } from './playground.words'

/** A workspace: its name, who is in it, and its end. */
export function WorkspaceSheet({
  opened,
  onClose,
  workspace,
  onGone,
}: {
  opened: boolean
  onClose: () => void
  workspace: Workspace
  onGone: () => void
}) {
  const words = usePlaygroundWords()
  const name = workspaceName(workspace, words('defaultWorkspace'))
  return (
    <Aside opened={opened} onClose={onClose} title={name}>
      <Stack gap="lg" key={workspace.id}>
        {workspace.role === 'owner' && <NameField workspace={workspace} name={name} />}
        {workspace.is_default ? (
          <Text size="sm" c="dimmed">
            {words('onlyYours')}
          </Text>
        ) : (
          <Members workspace={workspace} onLeft={onGone} />
        )}
        {workspace.role === 'owner' && !workspace.is_default && (
          <Deletion workspace={workspace} onGone={onGone} />
        )}
      </Stack>
    </Aside>
  )
}

function NameField({ workspace, name }: { workspace: Workspace; name: string }) {
  const words = usePlaygroundWords()
  const client = useQueryClient()
  const [typed, setTyped] = useState(name)
  const rename = useMutation({
    mutationFn: () =>
      ok(
        api.PATCH('/chat/api/workspaces/{workspace_id}', {
          params: { path: { workspace_id: workspace.id } },
          body: { name: typed.trim() },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: workspacesQuery.queryKey }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    rename.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <TextInput
          label={words('name')}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          maxLength={255}
          flex={1}
        />
        <Button
          type="submit"
          variant="default"
          loading={rename.isPending}
          disabled={typed.trim() === '' || typed.trim() === name}
        >
          {words('rename')}
        </Button>
      </Group>
    </form>
  )
}

function Deletion({ workspace, onGone }: { workspace: Workspace; onGone: () => void }) {
  const words = usePlaygroundWords()
  const said = useChatWords()
  const client = useQueryClient()
  const params = { path: { workspace_id: workspace.id } }
  const refresh = () => client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
  const restore = useMutation({
    mutationFn: () => ok(api.POST('/chat/api/workspaces/{workspace_id}/restore', { params })),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () => ok(api.DELETE('/chat/api/workspaces/{workspace_id}', { params })),
    onSuccess: () => {
      onGone()
      offerUndo(words('workspaceDeleted', { name: workspace.name }), said('undo'), () => restore.mutate())
      return refresh()
    },
  })
  return (
    <div>
      <Button
        variant="light"
        color="red"
        leftSection={<IconTrash size={16} stroke={1.6} aria-hidden />}
        loading={remove.isPending}
        onClick={() => remove.mutate()}
      >
        {words('deleteWorkspace')}
      </Button>
      <Text size="xs" c="dimmed" mt={6}>
        {words('deleteWorkspaceHint')}
      </Text>
    </div>
  )
}
