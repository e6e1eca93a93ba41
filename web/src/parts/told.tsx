import { notifications } from '@mantine/notifications'

/** Says what went wrong, where nothing on the page has a place for it. */
export function failed(error: Error): void {
  notifications.show({ color: 'red', message: error.message })
}
