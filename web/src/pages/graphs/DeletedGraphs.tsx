import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { graphsQuery } from './calls'
import { useGraphsWords } from './graphs.words'

/** Graphs in the trash, for 30 days. */
export function DeletedGraphs({
  opened,
  onClose,
  onRestore,
}: {
  opened: boolean
  onClose: () => void
  onRestore: (id: string) => void
}) {
  const words = useGraphsWords()
  const frame = useFrameWords()
  const format = useFormat()
  const found = useQuery({ ...graphsQuery(true), enabled: opened })
  return (
    <Modal
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={opened}
      onClose={onClose}
      title={words('trash')}
    >
      {found.isPending && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data?.items.length === 0 && <Text c="dimmed">{words('trashEmpty')}</Text>}
      <Stack gap="xs">
        {found.data?.items.map((one) => (
          <Group key={one.id} justify="space-between" wrap="nowrap">
            <div>
              <Text>{one.name}</Text>
              <Text size="xs" c="dimmed">
                {words('nodes', { count: one.node_count })}
                {one.deleted_at && ` · ${format.minute(one.deleted_at)}`}
              </Text>
            </div>
            <Button size="xs" variant="default" onClick={() => onRestore(one.id)}>
              {words('restore')}
            </Button>
          </Group>
        ))}
      </Stack>
    </Modal>
  )
}
