import { Drawer, useMatches } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFrameWords } from '@/app/frame.words'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { nodeQuery } from './calls'
import { useGraphsWords } from './graphs.words'
import { NodeDetails } from './NodeDetails'

/** All about one node. */
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
  const frame = useFrameWords()
  const size = useMatches({ base: '100%', sm: 480 })
  const found = useQuery({ ...nodeQuery(graph, node ?? ''), enabled: node !== null })
  return (
    <Drawer
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={node !== null}
      onClose={() => onOpen(null)}
      position="right"
      size={size}
      title={words('node')}
      overlayProps={{ backgroundOpacity: 0.25 }}
    >
      {node !== null && found.isPending && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && <NodeDetails key={found.data.id} graph={graph} node={found.data} onOpen={onOpen} />}
    </Drawer>
  )
}
