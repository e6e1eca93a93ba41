import { Drawer, useMatches } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFrameWords } from '@/app/frame.words'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { askedIn } from './capsules'
import { Prompt } from './Prompt'
import { compose, nameOf, type Place, type Said } from './place'
import { useRoomsWords } from './rooms.words'

/** What an agent reads to answer a message, layer by layer. */
export function PromptSheet({
  place,
  agent,
  asked,
  loading,
  onClose,
}: {
  place: Place
  agent: string | null
  asked: Said | undefined
  loading: boolean
  onClose: () => void
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const size = useMatches({ base: '100%', sm: 620 })
  const found = useQuery({
    queryKey: ['rooms', nameOf(place), 'prompt', agent, asked?.id],
    queryFn: async () => compose(place, agent as string, await askedIn(asked as Said)),
    enabled: agent !== null && asked !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  return (
    <Drawer
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={agent !== null && (loading || asked !== undefined)}
      onClose={onClose}
      position="right"
      size={size}
      title={words('promptTitle')}
      overlayProps={{ backgroundOpacity: 0.25 }}
    >
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.isPending && <Waiting />}
      {found.data && asked && <Prompt composed={found.data} asked={asked} />}
    </Drawer>
  )
}
