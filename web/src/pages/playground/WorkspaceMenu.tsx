import { Menu, Text, UnstyledButton } from '@mantine/core'
import { IconCheck, IconPencil, IconPlus, IconSelector } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { type Workspace, workspaceName, workspacesQuery } from '@/parts/chat/workspace'
import classes from './Chats.module.css'
import { NameModal } from './NameModal'
import { usePlaygroundWords } from './playground.words'

const ICON = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

/** Which workspace one is in; another, a new one, another name. */
export function WorkspaceMenu({
  workspaces,
  current,
  onChoose,
}: {
  workspaces: Workspace[]
  current: Workspace
  onChoose: (id: string) => void
}) {
  const words = usePlaygroundWords()
  const client = useQueryClient()
  const [naming, setNaming] = useState<'new' | 'rename'>()
  const refresh = () => client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
  const create = useMutation({
    mutationFn: (name: string) => ok(api.POST('/chat/api/workspaces', { body: { name } })),
    onSuccess: async (made) => {
      await refresh()
      onChoose(made.id)
    },
  })
  const rename = useMutation({
    mutationFn: (name: string) =>
      ok(
        api.PATCH('/chat/api/workspaces/{workspace_id}', {
          params: { path: { workspace_id: current.id } },
          body: { name },
        }),
      ),
    onSuccess: refresh,
  })
  const shown = (one: Workspace) => workspaceName(one, words('defaultWorkspace'))
  return (
    <>
      <Menu position="bottom-start" width={240}>
        <Menu.Target>
          <UnstyledButton
            className={classes.workspace}
            aria-label={`${words('workspace')}: ${shown(current)}`}
          >
            <Text size="sm" fw={600} truncate flex={1}>
              {shown(current)}
            </Text>
            <IconSelector {...ICON} />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown className={classes.menu}>
          {workspaces.map((one) => (
            <Menu.Item
              key={one.id}
              onClick={() => onChoose(one.id)}
              rightSection={one.id === current.id ? <IconCheck {...ICON} /> : undefined}
            >
              <Text size="sm" truncate>
                {shown(one)}
              </Text>
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item leftSection={<IconPlus {...ICON} />} onClick={() => setNaming('new')}>
            {words('newWorkspace')}
          </Menu.Item>
          {current.role === 'owner' && (
            <Menu.Item leftSection={<IconPencil {...ICON} />} onClick={() => setNaming('rename')}>
              {words('renameWorkspace')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {naming && (
        <NameModal
          title={words(naming === 'new' ? 'newWorkspace' : 'renameWorkspace')}
          initial={naming === 'new' ? '' : shown(current)}
          onClose={() => setNaming(undefined)}
          onNamed={(name) => (naming === 'new' ? create : rename).mutate(name)}
        />
      )}
    </>
  )
}
