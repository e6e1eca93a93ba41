import { Drawer, useMatches } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFrameWords } from '@/app/frame.words'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Prompt } from './Prompt'
import { nameOf, type Place, type Said } from './place'
import { useRoomsWords } from './rooms.words'
import { why } from './why'

/** What an agent reads to answer a message, layer by layer; `trace`: what it read when it did. */
export function PromptSheet({
  place,
  agent,
  asked,
  trace,
  loading,
  onClose,
}: {
  place: Place
  agent: string | null
  asked: Said | undefined
  trace: string | null
  loading: boolean
  onClose: () => void
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const size = useMatches({ base: '100%', sm: 620 })
  const known = asked !== undefined || trace !== null
  const found = useQuery({
    queryKey: ['rooms', nameOf(place), 'prompt', agent, asked?.id, trace],
    queryFn: () => why(place, agent as string, asked, trace),
    enabled: agent !== null && known,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  return (
    <Drawer
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={agent !== null && (loading || known)}
      onClose={onClose}
      position="right"
      size={size}
      title={words('promptTitle')}
      overlayProps={{ backgroundOpacity: 0.25 }}
    >
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.isPending && <Waiting />}
      {found.data && <Prompt shown={found.data} />}
    </Drawer>
  )
}
