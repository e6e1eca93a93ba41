import { Button, Group, NativeSelect, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useRef, useState } from 'react'
import { useAddress } from '@/parts/address'
import { useGraphsWords } from './graphs.words'
import { FILTERS, readObject, useFilters } from './useFilters'

const SURE = '0.5'
const LEAST = ['0', '0.25', SURE, '0.7', '0.9']

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
        <NativeSelect
          label={words('least')}
          value={typed.least || SURE}
          onChange={({ currentTarget: { value } }) => set('least', value === SURE ? '' : value)}
          data={LEAST.map((value) => ({ value, label: words(`least${LEAST.indexOf(value)}` as 'least0') }))}
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
