import { Button, Group, NumberInput, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useRef, useState } from 'react'
import { useAddress } from '@/parts/address'
import { useGraphsWords } from './graphs.words'
import { FILTERS, readObject, useFilters } from './useFilters'

/** Type, metadata and time: what a list and a recall are narrowed by. They are in the page's address. */
export function FilterFields({ recalling }: { recalling: boolean }) {
  const words = useGraphsWords()
  const [, change] = useAddress()
  const { raw, count } = useFilters()
  const [typed, setTyped] = useState(raw)
  const unsettled = useRef<Record<string, string>>({}) // another field may be written into before one has settled
  const settle = useDebouncedCallback(() => {
    change(unsettled.current, { replace: true })
    unsettled.current = {}
  }, 300)
  const set = (name: (typeof FILTERS)[number], value: string) => {
    setTyped((before) => ({ ...before, [name]: value }))
    if (name === 'meta' && !readObject(value)) return
    unsettled.current[name] = value
    settle()
  }
  const clear = () => {
    const nothing = Object.fromEntries(FILTERS.map((name) => [name, '']))
    unsettled.current = {}
    setTyped(nothing as typeof raw)
    change(nothing, { replace: true })
  }
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
        <TextInput
          label={words('type')}
          value={typed.type}
          onChange={(event) => set('type', event.currentTarget.value)}
        />
        <TextInput
          label={words('metadataFilter')}
          placeholder={'{"team": "backend"}'}
          value={typed.meta}
          error={readObject(typed.meta) ? undefined : words('notJson')}
          onChange={(event) => set('meta', event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          label={words('start')}
          value={typed.start}
          onChange={(event) => set('start', event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          label={words('end')}
          value={typed.end}
          onChange={(event) => set('end', event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          label={words('asOf')}
          value={typed.as_of}
          onChange={(event) => set('as_of', event.currentTarget.value)}
        />
        <NumberInput
          label={words('least')}
          placeholder="0.5"
          min={0}
          max={1}
          step={0.1}
          value={typed.least}
          title={words('leastHint')}
          onChange={(value) => set('least', String(value))}
        />
      </SimpleGrid>
      <Group justify="space-between">
        <Switch
          label={words('deleted')}
          checked={typed.deleted !== ''}
          disabled={recalling}
          onChange={(event) => set('deleted', event.currentTarget.checked ? '1' : '')}
        />
        {count > 0 && (
          <Button variant="subtle" size="xs" onClick={clear}>
            {words('reset')}
          </Button>
        )}
      </Group>
    </Stack>
  )
}
