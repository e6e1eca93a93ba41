import { Button, Group, Modal, Text } from '@mantine/core'
import { useCapsuleWords } from './capsules.words'

/** Asks before what somebody wrote is lost. */
export function Discard({
  opened,
  onKeep,
  onDiscard,
}: {
  opened: boolean
  onKeep: () => void
  onDiscard: () => void
}) {
  const words = useCapsuleWords()
  // Not there at all until it is asked for: else the Escape that opens it would close it too.
  if (!opened) return null
  return (
    <Modal opened onClose={onKeep} title={words('discard')} centered withCloseButton={false}>
      <Text size="sm">{words('discardText')}</Text>
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={onDiscard}>
          {words('discardYes')}
        </Button>
        <Button onClick={onKeep} data-autofocus>
          {words('discardNo')}
        </Button>
      </Group>
    </Modal>
  )
}
