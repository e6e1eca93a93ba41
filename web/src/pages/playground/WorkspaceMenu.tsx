import { Menu, Text, UnstyledButton } from '@mantine/core'
import { IconCheck, IconPlus, IconSelector, IconUsers } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { type Workspace, workspaceName, workspacesQuery } from '@/parts/chat/workspace'
import classes from './Chats.module.css'
import { NameModal } from './NameModal'
import { usePlaygroundWords } from './playground.words'

const ICON = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

/** Which workspace one is in; another, a new one, and who is in it. */
export function WorkspaceMenu({
  workspaces,
  current,
  onChoose,
  onShare,
}: {
  workspaces: Workspace[]
  current: Workspace
  onChoose: (id: string) => void
  onShare: () => void
}) {
  const words = usePlaygroundWords()
  const client = useQueryClient()
  const [naming, setNaming] = useState(false)
  const refresh = () => client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
  const create = useMutation({
    mutationFn: (name: string) => ok(api.POST('/chat/api/workspaces', { body: { name } })),
    onSuccess: async (made) => {
      await refresh()
      onChoose(made.id)
    },
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
          <Menu.Item leftSection={<IconPlus {...ICON} />} onClick={() => setNaming(true)}>
            {words('newWorkspace')}
          </Menu.Item>
          <Menu.Item leftSection={<IconUsers {...ICON} />} onClick={onShare}>
            {words('shareWorkspace')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {naming && (
        <NameModal
          title={words('newWorkspace')}
          initial=""
          onClose={() => setNaming(false)}
          onNamed={(name) => create.mutate(name)}
        />
      )}
    </>
  )
}
