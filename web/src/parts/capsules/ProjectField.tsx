import { Select } from '@mantine/core'
import { useIsMutating, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useCapsuleWords } from './capsules.words'
import { projectsQuery } from './projects'

const NEW = 'new'
const MAKING = ['project', 'making']

/** While a project is being made it is not chosen yet: what would put something into it has to wait. */
export function useMakingProject(): boolean {
  return useIsMutating({ mutationKey: MAKING }) > 0
}

/** The project of a capsule, or none; what is typed and is none yet becomes a new one. */
export function ProjectField({
  value,
  onChange,
  flex,
}: {
  value: string | null
  onChange: (project: string | null) => void
  flex?: string
}) {
  const words = useCapsuleWords()
  const client = useQueryClient()
  const [typed, setTyped] = useState('')
  const projects = useQuery(projectsQuery).data?.items ?? []
  const making = useMutation({
    mutationKey: MAKING,
    mutationFn: (name: string) => ok(api.POST('/v1/projects', { body: { name } })),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: projectsQuery.queryKey })
      onChange(made.id)
      setTyped(made.name)
    },
  })
  const name = typed.trim()
  const known = projects.some((one) => one.name === name)
  return (
    <Select
      label={words('project')}
      placeholder={words('noProject')}
      searchable
      clearable
      flex={flex}
      value={value}
      searchValue={typed}
      onSearchChange={setTyped}
      disabled={making.isPending}
      maxLength={200}
      onChange={(chosen) => (chosen === NEW ? making.mutate(name) : onChange(chosen))}
      // Its own line is there whatever is typed.
      filter={({ options, search }) =>
        options.filter(
          (one) =>
            !('label' in one) ||
            !('value' in one) ||
            one.value === NEW ||
            one.label.toLowerCase().includes(search.trim().toLowerCase()),
        )
      }
      data={[
        ...projects.map((one) => ({ value: one.id, label: one.name })),
        ...(name && !known ? [{ value: NEW, label: words('makeProject', { name }) }] : []),
      ]}
    />
  )
}
