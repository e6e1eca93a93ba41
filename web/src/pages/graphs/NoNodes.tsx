import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { spoken } from '@/app/words'
import { Empty } from '@/parts/Empty'
import { useRefresh } from './calls'
import { storeExample } from './example'
import { useGraphsWords } from './graphs.words'

/** A graph with nothing in it: what it is good for, and two first steps. */
export function NoNodes({ graph, onStore }: { graph: string; onStore: () => void }) {
  const words = useGraphsWords()
  const refresh = useRefresh()
  const example = useMutation({ mutationFn: () => storeExample(graph, spoken()), onSettled: () => refresh() })
  return (
    <Empty
      title={words('emptyTitle')}
      action={
        <Group justify="center">
          <Button onClick={() => example.mutate()} loading={example.isPending}>
            {words('makeExample')}
          </Button>
          <Button variant="default" onClick={onStore}>
            {words('store')}
          </Button>
        </Group>
      }
    >
      {words('empty')}
    </Empty>
  )
}
