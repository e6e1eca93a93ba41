import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'

/** Says what was done, with a button that takes it back. */
export function offerUndo(message: string, label: string, undo: () => void): void {
  const id = notifications.show({
    autoClose: 10_000,
    withCloseButton: false,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" lineClamp={2}>
          {message}
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
