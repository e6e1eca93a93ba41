import { ActionIcon, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { IconCheck, IconPencil, IconTrash } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { CAPSULES } from '@/parts/capsules/queries'
import { offerUndo } from '@/parts/offerUndo'
import { Skeletons } from '@/parts/Skeletons'
import classes from './Projects.module.css'
import { usePlace } from './place'
import { projectsQuery } from './projects'
import { useRecallWords } from './recall.words'

type Project = Schema<'ProjectOut'>

/** One's projects: made, renamed, put in the trash. What is in one stays where it is. */
export function Projects({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const words = useRecallWords()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const found = useQuery({ ...projectsQuery, enabled: opened })
  const making = useMutation({
    mutationFn: () => ok(api.POST('/v1/projects', { body: { name: name.trim() } })),
    onSuccess: async () => {
      setName('')
      await client.invalidateQueries({ queryKey: projectsQuery.queryKey })
    },
  })
  return (
    <Modal opened={opened} onClose={onClose} title={words('projects')}>
      <Stack gap="md">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (name.trim()) making.mutate()
          }}
        >
          <Group gap="xs" align="flex-end" wrap="nowrap">
            <TextInput
              label={words('newProject')}
              value={name}
              maxLength={200}
              flex={1}
              onChange={(event) => setName(event.currentTarget.value)}
              data-autofocus
            />
            <Button type="submit" disabled={!name.trim()} loading={making.isPending}>
              {words('makeProject')}
            </Button>
          </Group>
        </form>
        {found.isPending && <Skeletons lines={2} height={44} />}
        {found.data?.items.length === 0 && (
          <Text size="sm" c="dimmed">
            {words('noProjects')}
          </Text>
        )}
        <ul className={classes.list}>
          {found.data?.items.map((project) => (
            <One key={project.id} project={project} />
          ))}
        </ul>
      </Stack>
    </Modal>
  )
}

function One({ project }: { project: Project }) {
  const words = useRecallWords()
  const client = useQueryClient()
  const place = usePlace()
  const [typed, setTyped] = useState<string | null>(null)
  const params = { path: { project_id: project.id } }
  const renewed = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: projectsQuery.queryKey }),
      client.invalidateQueries({ queryKey: CAPSULES }),
    ])
  const renaming = useMutation({
    mutationFn: (name: string) => ok(api.PATCH('/v1/projects/{project_id}', { params, body: { name } })),
    onSuccess: async () => {
      setTyped(null)
      await renewed()
    },
  })
  const removing = useMutation({
    mutationFn: () => ok(api.DELETE('/v1/projects/{project_id}', { params })),
    onSuccess: async () => {
      if (place.filters.project === project.id) place.set({ project: null })
      await renewed()
      offerUndo(words('projectGone', { name: project.name }), words('undo'), () => {
        void ok(api.POST('/v1/projects/{project_id}/restore', { params })).then(renewed)
      })
    },
  })
  const mine = project.role === 'owner'
  if (typed !== null) {
    return (
      <li>
        <form
          className={classes.one}
          onSubmit={(event) => {
            event.preventDefault()
            if (typed.trim()) renaming.mutate(typed.trim())
          }}
        >
          <TextInput
            aria-label={words('renameProject', { name: project.name })}
            value={typed}
            maxLength={200}
            flex={1}
            autoFocus
            onChange={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Escape') return
              event.stopPropagation()
              setTyped(null)
            }}
          />
          <ActionIcon type="submit" variant="light" size="lg" aria-label={words('save')}>
            <IconCheck size={18} stroke={1.6} aria-hidden />
          </ActionIcon>
        </form>
      </li>
    )
  }
  return (
    <li className={classes.one}>
      <Text className={classes.name}>{project.name}</Text>
      {mine && (
        <>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={words('renameProject', { name: project.name })}
            onClick={() => setTyped(project.name)}
          >
            <IconPencil size={18} stroke={1.6} aria-hidden />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            loading={removing.isPending}
            aria-label={words('deleteProject', { name: project.name })}
            onClick={() => removing.mutate()}
          >
            <IconTrash size={18} stroke={1.6} aria-hidden />
          </ActionIcon>
        </>
      )}
    </li>
  )
}
