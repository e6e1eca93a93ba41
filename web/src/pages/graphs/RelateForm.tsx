import { Autocomplete, Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { type Node, useRefresh } from './calls'
import { useGraphsWords } from './graphs.words'

const TYPES = ['depends_on', 'relates_to', 'led_to', 'part_of', 'supersedes']

/** From this node to another one, by a word. */
export function RelateForm({
  graph,
  node,
  opened,
  onClose,
}: {
  graph: string
  node: Node
  opened: boolean
  onClose: () => void
}) {
  const words = useGraphsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const [other, setOther] = useState<string | null>(null)
  const [typed, setTyped] = useState('')
  const [type, setType] = useState('relates_to')
  const [settled] = useDebouncedValue(typed.trim(), 250)
  const nodes = useQuery({
    queryKey: ['graphs', graph, 'others'],
    queryFn: () =>
      ok(
        api.GET('/v1/graphs/{graph_id}/nodes', {
          params: { path: { graph_id: graph }, query: { limit: 200 } },
        }),
      ),
    enabled: opened,
  })
  const data = (nodes.data?.items ?? [])
    .filter((one) => one.id !== node.id)
    .filter((one) => one.id === other || one.content.toLowerCase().includes(settled.toLowerCase()))
    .slice(0, 40)
  const relate = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/v1/graphs/{graph_id}/edges', {
          params: { path: { graph_id: graph } },
          body: { from_id: node.id, to_id: other as string, edge_type: type.trim(), metadata: {} },
        }),
      ),
    onSuccess: async () => {
      onClose()
      setOther(null)
      await refresh()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    relate.mutate()
  }
  return (
    <Modal
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={opened}
      onClose={onClose}
      title={words('relateTitle')}
      size="lg"
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text lineClamp={3}>{node.content}</Text>
          <Autocomplete
            label={words('edgeType')}
            description={words('edgeTypeHint')}
            data={TYPES}
            filter={({ options }) => options}
            value={type}
            onChange={setType}
            maxLength={255}
          />
          <Select
            label={words('other')}
            description={words('otherHint')}
            searchable
            nothingFoundMessage={words('noMatch')}
            filter={({ options }) => options}
            onSearchChange={setTyped}
            data={data.map((one) => ({ value: one.id, label: one.content.slice(0, 120) }))}
            value={other}
            onChange={setOther}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {frame('cancel')}
            </Button>
            <Button type="submit" loading={relate.isPending} disabled={!other || !type.trim()}>
              {words('relate')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
