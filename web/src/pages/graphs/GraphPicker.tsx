import { ActionIcon, Button, Group, Menu, Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconDots, IconPlus, IconTrash, IconTrashOff } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { offerUndo } from '@/parts/offerUndo'
import { useRefresh } from './calls'
import { DeletedGraphs } from './DeletedGraphs'
import { useGraphsWords } from './graphs.words'

/** Which graph; make one, delete it, bring one back. */
export function GraphPicker({
  graphs,
  chosen,
}: {
  graphs: Schema<'GraphOut'>[]
  chosen: Schema<'GraphOut'>
}) {
  const words = useGraphsWords()
  const frame = useFrameWords()
  const format = useFormat()
  const refresh = useRefresh()
  const [, change] = useAddress()
  const [naming, form] = useDisclosure()
  const [trash, bin] = useDisclosure()
  const [name, setName] = useState('')
  const choose = (id: string | null) => change({ graph: id, node: null, q: null })
  const make = useMutation({
    mutationFn: () => ok(api.POST('/v1/graphs', { body: { name: name.trim() } })),
    onSuccess: async (made) => {
      form.close()
      setName('')
      await refresh()
      choose(made.id)
    },
  })
  const restore = useMutation({
    mutationFn: (id: string) =>
      ok(api.POST('/v1/graphs/{graph_id}/restore', { params: { path: { graph_id: id } } })),
    onSuccess: async (back) => {
      await refresh()
      choose(back.id)
    },
  })
  const remove = useMutation({
    mutationFn: (graph: Schema<'GraphOut'>) =>
      ok(api.DELETE('/v1/graphs/{graph_id}', { params: { path: { graph_id: graph.id } } })),
    onSuccess: async (_, graph) => {
      choose(null)
      await refresh()
      offerUndo(words('graphDeleted', { name: graph.name }), words('undo'), () => restore.mutate(graph.id))
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    make.mutate()
  }
  return (
    <Group gap={6} wrap="nowrap">
      <Select
        aria-label={words('graph')}
        allowDeselect={false}
        value={chosen.id}
        onChange={choose}
        data={graphs.map((one) => ({ value: one.id, label: one.name }))}
        renderOption={({ option }) => {
          const one = graphs.find((graph) => graph.id === option.value)
          return (
            <Stack gap={0}>
              <Text size="sm">{option.label}</Text>
              <Text size="xs" c="dimmed">
                {words('nodes', { count: one?.node_count ?? 0 })}
                {one && ` · ${format.day(one.created_at)}`}
              </Text>
            </Stack>
          )
        }}
        w={{ base: 136, sm: 190 }}
      />
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label={words('graphMenu')}>
            <IconDots size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPlus size={16} />} onClick={form.open}>
            {words('newGraph')}
          </Menu.Item>
          <Menu.Item leftSection={<IconTrashOff size={16} />} onClick={bin.open}>
            {words('trash')}
          </Menu.Item>
          {!chosen.is_default && (
            <Menu.Item
              color="red"
              leftSection={<IconTrash size={16} />}
              onClick={() => remove.mutate(chosen)}
            >
              {words('deleteGraph')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <Modal
        closeButtonProps={{ 'aria-label': frame('close') }}
        opened={naming}
        onClose={form.close}
        title={words('newGraph')}
      >
        <form onSubmit={submit}>
          <Stack>
            <TextInput
              data-autofocus
              label={words('name')}
              value={name}
              maxLength={255}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Button
              type="submit"
              loading={make.isPending}
              disabled={!name.trim()}
              style={{ alignSelf: 'flex-end' }}
            >
              {words('create')}
            </Button>
          </Stack>
        </form>
      </Modal>
      <DeletedGraphs
        opened={trash}
        onClose={bin.close}
        onRestore={(id) => {
          bin.close()
          restore.mutate(id)
        }}
      />
    </Group>
  )
}
