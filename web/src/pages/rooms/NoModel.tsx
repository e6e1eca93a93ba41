import { Modal, Stack, Text } from '@mantine/core'
import { useFrameWords } from '@/app/frame.words'
import { NoModel as HowToConnect } from '@/parts/chat/NoModel'
import { useRoomsWords } from './rooms.words'

/** Nothing can answer by itself yet: how to change that. */
export function NoModel({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  return (
    <Modal
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={opened}
      onClose={onClose}
      title={words('noModel')}
    >
      <Stack gap="sm">
        <HowToConnect />
        <Text size="sm">{words('noModelMeanwhile')}</Text>
      </Stack>
    </Modal>
  )
}
