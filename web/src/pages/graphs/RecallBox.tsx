import { Button, Collapse, Group, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconAdjustmentsHorizontal, IconArrowLeft, IconSearch } from '@tabler/icons-react'
import { type FormEvent, useEffect, useState } from 'react'
import { useAddress } from '@/parts/address'
import { FilterFields } from './FilterFields'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'
import { useFilters } from './useFilters'

/** A question in plain words, and what narrows it. */
export function RecallBox({ graph }: { graph: string }) {
  const words = useGraphsWords()
  const [params, change] = useAddress()
  const filters = useFilters()
  const asked = params.get('q') ?? ''
  const [typed, setTyped] = useState(asked)
  const [opened, { toggle }] = useDisclosure()
  useEffect(() => setTyped(asked), [asked])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change({ q: typed.trim() || null, deleted: null })
  }
  return (
    <form onSubmit={submit} className={classes.card} role="search">
      <Stack gap="sm">
        <Group gap="xs" align="flex-end">
          <TextInput
            className={classes.question}
            aria-label={words('question')}
            placeholder={words('question')}
            leftSection={<IconSearch size={16} aria-hidden />}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <Button type="submit" disabled={!typed.trim()}>
            {words('recall')}
          </Button>
          <Button
            variant="default"
            aria-expanded={opened}
            onClick={toggle}
            leftSection={<IconAdjustmentsHorizontal size={16} aria-hidden />}
          >
            {filters.count ? words('filtersOn', { count: filters.count }) : words('filters')}
          </Button>
          {asked && (
            <Button
              variant="subtle"
              leftSection={<IconArrowLeft size={16} aria-hidden />}
              onClick={() => change({ q: null })}
            >
              {words('clear')}
            </Button>
          )}
        </Group>
        <Collapse expanded={opened}>
          <FilterFields key={graph} recalling={asked !== ''} />
        </Collapse>
      </Stack>
    </form>
  )
}
