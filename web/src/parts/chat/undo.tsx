import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'

/** Says what was done, and takes it back while it is said. */
export function offerUndo(said: string, label: string, undo: () => void): void {
  const id = notifications.show({
    autoClose: 8000,
    withCloseButton: false,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" lineClamp={2}>
          {said}
        </Text>
        <Button
          size="compact-sm"
          variant="light"
          flex="none"
          onClick={() => {
            notifications.hide(id)
            undo()
          }}
        >
          {label}
        </Button>
      </Group>
    ),
  })
}
