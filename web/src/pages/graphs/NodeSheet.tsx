import { useQuery } from '@tanstack/react-query'
import { Aside } from '@/parts/Aside'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { nodeQuery } from './calls'
import { useGraphsWords } from './graphs.words'
import { NodeDetails } from './NodeDetails'

/** All about one node, beside the list. */
export function NodeSheet({
  graph,
  node,
  onOpen,
}: {
  graph: string
  node: string | null
  onOpen: (id: string | null) => void
}) {
  const words = useGraphsWords()
  const found = useQuery({ ...nodeQuery(graph, node ?? ''), enabled: node !== null })
  return (
    <Aside opened={node !== null} onClose={() => onOpen(null)} title={words('node')}>
      {node !== null && found.isPending && <Skeletons lines={4} />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {node !== null && found.data && (
        <NodeDetails key={found.data.id} graph={graph} node={found.data} onOpen={onOpen} />
      )}
    </Aside>
  )
}
