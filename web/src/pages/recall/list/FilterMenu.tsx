import { Button, MultiSelect, Popover, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconAdjustmentsHorizontal, IconFolderCog } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { useKinds } from '@/parts/capsules/kinds'
import { CAPSULES } from '@/parts/capsules/queries'
import { Projects } from '../Projects'
import { NO_FILTERS, usePlace, writeTags } from '../place'
import { projectsQuery } from '../projects'
import { useRecallWords } from '../recall.words'
import { type Asked, useAsked } from './asked'

type By = Schema<'CountList'>['by']

/** How many there are of each among what the other filters leave. */
function useCounts(by: By, asked: Asked, enabled: boolean) {
  return (
    useQuery({
      queryKey: [...CAPSULES, 'counts', by, asked],
      queryFn: () => ok(api.GET('/v1/memory/capsules/counts', { params: { query: { ...asked, by } } })),
      placeholderData: keepPreviousData,
      enabled,
    }).data?.items ?? []
  )
}

export function FilterMenu() {
  const words = useRecallWords()
  const format = useFormat()
  const kinds = useKinds()
  const { filters, tags, set } = usePlace()
  const { asked } = useAsked()
  const [opened, { toggle, close }] = useDisclosure()
  const [managing, manage] = useDisclosure()
  const tagCounts = useCounts('tag', asked, opened)
  const kindCounts = useCounts('kind', { ...asked, kind: undefined }, opened)
  const projectCounts = useCounts('project', { ...asked, project_id: undefined }, opened)
  const projects = useQuery(projectsQuery).data?.items ?? []
  const on = tags.length + [filters.kind, filters.project, filters.from || filters.to].filter(Boolean).length
  const common = {
    clearable: true,
    placeholder: words('any'),
    openOnFocus: false,
    comboboxProps: { withinPortal: false },
  }
  const counted = (label: string, count: number) => `${label} (${format.number(count)})`
  const of = (counts: readonly Schema<'CountOut'>[], value: string) =>
    counts.find((one) => one.value === value)?.count ?? 0
  const tagValues = [...new Set([...tags, ...tagCounts.map((one) => one.value)])]
  const kindValues = [...new Set([...kindCounts.map((one) => one.value), filters.kind])].filter(Boolean)
  return (
    <>
      <Popover position="bottom-end" width={340} trapFocus shadow="md" opened={opened} onChange={close}>
        <Popover.Target>
          <Button
            variant="default"
            leftSection={<IconAdjustmentsHorizontal size={16} stroke={1.6} aria-hidden />}
            rightSection={on || undefined}
            onClick={toggle}
          >
            {words('filters')}
          </Button>
        </Popover.Target>
        <Popover.Dropdown aria-label={words('filters')}>
          <Stack gap="sm">
            <MultiSelect
              {...common}
              placeholder={tags.length ? undefined : words('any')}
              label={words('tags')}
              searchable
              limit={100}
              data={tagValues.map((tag) => ({ value: tag, label: counted(`#${tag}`, of(tagCounts, tag)) }))}
              value={tags}
              onChange={(chosen) => set({ tag: writeTags(chosen) })}
            />
            <Select
              {...common}
              label={words('kind')}
              searchable
              data={kindValues.map((kind) => ({
                value: kind,
                label: counted(kinds.label(kind), of(kindCounts, kind)),
              }))}
              value={filters.kind || null}
              onChange={(kind) => set({ kind })}
            />
            <Select
              {...common}
              label={words('project')}
              searchable
              data={[
                ...projects.map((one) => ({
                  value: one.id,
                  label: counted(one.name, of(projectCounts, one.id)),
                })),
                { value: 'none', label: counted(words('inNone'), of(projectCounts, 'none')) },
              ]}
              value={filters.project || null}
              onChange={(project) => set({ project })}
            />
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
            <Button
              variant="subtle"
              color="gray"
              size="xs"
              leftSection={<IconFolderCog size={16} stroke={1.6} aria-hidden />}
              onClick={() => {
                close()
                manage.open()
              }}
            >
              {words('manageProjects')}
            </Button>
          </Stack>
        </Popover.Dropdown>
      </Popover>
      <Projects opened={managing} onClose={manage.close} />
    </>
  )
}
