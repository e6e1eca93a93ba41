import { Anchor, Badge, Button, Group, Stack, Table, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconArrowsExchange, IconEdit, IconRefresh, IconTrash, IconVectorTriangle } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { offerUndo } from '@/parts/offerUndo'
import { CopyId } from './CopyId'
import { type Node, nodeQuery, useRefresh, useRevive } from './calls'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'
import { NodeEdges } from './NodeEdges'
import { NodeForm } from './NodeForm'
import { NodeHistory } from './NodeHistory'
import { RelateForm } from './RelateForm'

export function NodeDetails({
  graph,
  node,
  onOpen,
}: {
  graph: string
  node: Node
  onOpen: (id: string | null) => void
}) {
  const words = useGraphsWords()
  const format = useFormat()
  const refresh = useRefresh()
  const client = useQueryClient()
  const [, change] = useAddress()
  const [editing, edit] = useDisclosure()
  const [replacing, replace] = useDisclosure()
  const [relating, relate] = useDisclosure()
  const path = { graph_id: graph, node_id: node.id }
  const restore = useMutation({
    mutationFn: () => ok(api.POST('/v1/graphs/{graph_id}/nodes/{node_id}/restore', { params: { path } })),
    onSuccess: () => refresh(),
  })
  const revive = useRevive(graph)
  const forget = useMutation({
    mutationFn: async () => {
      // What is still being asked of it would come back as not found.
      await client.cancelQueries({ predicate: (query) => query.queryKey.includes(node.id) })
      return ok(api.DELETE('/v1/graphs/{graph_id}/nodes/{node_id}', { params: { path } }))
    },
    onSuccess: async () => {
      onOpen(null)
      client.removeQueries({ queryKey: ['recalled'] })
      await refresh(node.id)
      offerUndo(words('wasForgotten'), words('undo'), () => restore.mutate())
    },
  })
  const newer = useQuery({
    ...nodeQuery(graph, node.superseded_by ?? ''),
    enabled: node.superseded_by !== null,
  })
  const pairs = Object.entries(node.metadata)
  const since = words('since', { time: format.minute(node.valid_from) })
  return (
    <Stack gap="lg">
      <Stack gap="xs">
        <Text className={classes.content} size="lg" lh={1.5}>
          {node.content}
        </Text>
        <Group gap="xs">
          <Badge variant="default" tt="none" fw={500}>
            {node.node_type}
          </Badge>
          <Text size="xs" c="dimmed">
            {node.valid_to
              ? words('held', { since, until: words('until', { time: format.minute(node.valid_to) }) })
              : words('holds', { since })}
          </Text>
          <CopyId id={node.id} />
        </Group>
        {node.superseded_by && (
          <Group gap="xs">
            <Text size="sm">
              {words('supersededBy')}{' '}
              <Anchor component="button" type="button" onClick={() => onOpen(node.superseded_by)}>
                {newer.data?.content ?? `${node.superseded_by.slice(0, 14)}…`}
              </Anchor>
            </Text>
            <Button
              size="compact-xs"
              variant="light"
              loading={revive.isPending}
              onClick={() => revive.mutate(node.id)}
            >
              {words('revive')}
            </Button>
          </Group>
        )}
        <Group gap="xs" mt={4}>
          <Button size="xs" variant="default" leftSection={<IconEdit size={14} />} onClick={edit.open}>
            {words('edit')}
          </Button>
          <Button size="xs" variant="default" leftSection={<IconRefresh size={14} />} onClick={replace.open}>
            {words('replace')}
          </Button>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconArrowsExchange size={14} />}
            onClick={relate.open}
          >
            {words('relate')}
          </Button>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconVectorTriangle size={14} />}
            onClick={() => change({ view: 'picture', around: node.id, node: null, q: null, depth: '1' })}
          >
            {words('draw')}
          </Button>
          <Button
            size="xs"
            variant="subtle"
            color="red"
            leftSection={<IconTrash size={14} />}
            loading={forget.isPending}
            onClick={() => forget.mutate()}
          >
            {words('forget')}
          </Button>
        </Group>
      </Stack>
      <section>
        <Title order={3} size="h5" mb="xs">
          {words('metadata')}
        </Title>
        {pairs.length === 0 ? (
          <Text size="sm" c="dimmed">
            {words('noMetadata')}
          </Text>
        ) : (
          <Table layout="fixed">
            <Table.Thead>
              <Table.Tr>
                <Table.Th w="35%">{words('key')}</Table.Th>
                <Table.Th>{words('value')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {pairs.map(([key, value]) => (
                <Table.Tr key={key}>
                  <Table.Td className={classes.content}>{key}</Table.Td>
                  <Table.Td className={classes.content}>
                    {typeof value === 'string' ? value : JSON.stringify(value)}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </section>
      <NodeEdges graph={graph} node={node.id} onOpen={onOpen} />
      <NodeHistory graph={graph} node={node.id} />
      <NodeForm graph={graph} opened={editing} onClose={edit.close} edited={node} />
      <NodeForm graph={graph} opened={replacing} onClose={replace.close} replaced={node} onStored={onOpen} />
      <RelateForm graph={graph} node={node} opened={relating} onClose={relate.close} />
    </Stack>
  )
}
