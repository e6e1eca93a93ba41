import { Button, Popover, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { IconAdjustmentsHorizontal } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useKinds } from '@/parts/capsules/kinds'
import { tagsQuery } from '@/parts/capsules/queries'
import { NO_FILTERS, usePlace } from '../place'
import { projectsQuery } from '../projects'
import { useRecallWords } from '../recall.words'

export function FilterMenu() {
  const words = useRecallWords()
  const kinds = useKinds()
  const { filters, set } = usePlace()
  const tags = useQuery(tagsQuery).data?.items ?? []
  const projects = useQuery(projectsQuery).data?.items ?? []
  const on = Object.values(filters).filter(Boolean).length
  const choose = (name: keyof typeof filters) => (value: string | null) => set({ [name]: value })
  const common = {
    clearable: true,
    placeholder: words('any'),
    openOnFocus: false,
    comboboxProps: { withinPortal: false },
  }
  const with_ = (values: string[], value: string) =>
    value && !values.includes(value) ? [...values, value] : values
  return (
    <Popover position="bottom-end" width={320} trapFocus shadow="md">
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconAdjustmentsHorizontal size={16} stroke={1.6} aria-hidden />}
          rightSection={on || undefined}
        >
          {words('filters')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={words('filters')}>
        <Stack gap="sm">
          <Select
            {...common}
            label={words('tag')}
            searchable
            limit={100}
            data={with_(
              tags.map((one) => one.tag),
              filters.tag,
            )}
            value={filters.tag || null}
            onChange={choose('tag')}
          />
          <Select
            {...common}
            label={words('kind')}
            data={with_([...kinds.known], filters.kind).map((kind) => ({
              value: kind,
              label: kinds.label(kind),
            }))}
            value={filters.kind || null}
            onChange={choose('kind')}
          />
          {projects.length > 0 && (
            <Select
              {...common}
              label={words('project')}
              searchable
              data={projects.map((one) => ({ value: one.id, label: one.name }))}
              value={filters.project || null}
              onChange={choose('project')}
            />
          )}
          <SimpleGrid cols={2} spacing="sm">
            {(['from', 'to'] as const).map((name) => (
              <TextInput
                key={name}
                type="date"
                label={words(name)}
                value={filters[name]}
                onChange={(event) => set({ [name]: event.currentTarget.value || null })}
              />
            ))}
          </SimpleGrid>
          <Button variant="subtle" size="xs" disabled={on === 0} onClick={() => set({ ...NO_FILTERS })}>
            {words('clearAll')}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
