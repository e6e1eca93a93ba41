import { Button, Popover, Select, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconAdjustmentsHorizontal } from '@tabler/icons-react'
import type { Schema } from '@/api/client'
import { useFormat, useMe } from '@/app/session'
import { useThingWords } from '@/parts/things/things.words'
import classes from './Memory.module.css'
import { useMemoryWords } from './memory.words'
import { FACETS, type Facet, NO_FILTERS, useMemoryPlace } from './place'

type Facets = Schema<'FacetLists'>
const SOURCES = ['said', 'saved', 'model', 'distilled', 'program'] as const

/** What each value of a filter is called. */
export function useNames() {
  const words = useMemoryWords()
  const things = useThingWords()
  const me = useMe()?.user?.id
  return (by: Facet, value: string, name?: string | null): string => {
    if (by === 'kind') return things(value as Parameters<typeof things>[0])
    if (by === 'source') return SOURCES.includes(value as 'said') ? words(value as 'said') : value
    if (by === 'agent') return value
    if (value === me) return words('you')
    return name ?? (value.startsWith('usr_') ? words('somebody') : value)
  }
}

/** By kind, person, agent, source and time; each with how many it would leave. */
export function Filters({ facets }: { facets: Facets | undefined }) {
  const words = useMemoryWords()
  const place = useMemoryPlace()
  const [opened, { toggle, close }] = useDisclosure()
  const { asked, from, to } = place
  const on = [...FACETS.map((by) => asked[by]), from || to, asked.superseded].filter(Boolean).length
  return (
    <>
      <div className={classes.selects}>
        {FACETS.map((by) => (
          <FacetSelect key={by} by={by} facets={facets} />
        ))}
      </div>
      <Popover position="bottom-end" width={320} trapFocus shadow="md" opened={opened} onChange={close}>
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
            <Stack gap="sm" className={classes.narrow}>
              {FACETS.map((by) => (
                <FacetSelect key={by} by={by} facets={facets} labelled />
              ))}
            </Stack>
            <SimpleGrid cols={2} spacing="sm">
              <TextInput
                type="date"
                label={words('from')}
                value={from}
                onChange={(event) => place.set({ from: event.currentTarget.value || null })}
              />
              <TextInput
                type="date"
                label={words('to')}
                value={to}
                onChange={(event) => place.set({ to: event.currentTarget.value || null })}
              />
            </SimpleGrid>
            <Switch
              label={words('superseded')}
              checked={Boolean(asked.superseded)}
              onChange={(event) => place.set({ superseded: event.currentTarget.checked ? 'yes' : null })}
            />
            <Button
              variant="subtle"
              size="xs"
              disabled={!place.filtered}
              onClick={() => place.set({ ...NO_FILTERS })}
            >
              {words('clearAll')}
            </Button>
          </Stack>
        </Popover.Dropdown>
      </Popover>
    </>
  )
}

function FacetSelect({
  by,
  facets,
  labelled = false,
}: {
  by: Facet
  facets: Facets | undefined
  labelled?: boolean
}) {
  const words = useMemoryWords()
  const format = useFormat()
  const named = useNames()
  const place = useMemoryPlace()
  const value = place.asked[by] ?? null
  const counts = facets?.[by] ?? []
  const known = counts.map((one) => ({
    value: one.value,
    label: `${named(by, one.value, one.name)} (${format.number(one.count)})`,
  }))
  // What is chosen stays in sight, also where nothing is left of it.
  const data =
    value && !known.some((one) => one.value === value)
      ? [{ value, label: `${named(by, value)} (0)` }, ...known]
      : known
  return (
    <Select
      className={classes.select}
      aria-label={words(by)}
      label={labelled ? words(by) : undefined}
      placeholder={labelled ? words('any') : words(by)}
      clearable
      searchable={data.length > 8}
      openOnFocus={false}
      comboboxProps={{ withinPortal: !labelled, width: 'max-content', position: 'bottom-start' }}
      data={data}
      value={value}
      onChange={(chosen) => place.set({ [by]: chosen })}
    />
  )
}
