import { CloseButton, Drawer, Group, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFrameWords } from '@/app/frame.words'

/** Where a window has no room for a list at the left: it comes over the page. */
export function ListDrawer({
  opened,
  onClose,
  title,
  children,
}: {
  opened: boolean
  onClose: () => void
  title: string
  children: ReactNode
}) {
  const words = useFrameWords()
  return (
    <Drawer.Root opened={opened} onClose={onClose} size={320}>
      <Drawer.Overlay />
      <Drawer.Content aria-label={title}>
        <Drawer.Body p="md" h="100%" style={{ display: 'flex', flexDirection: 'column' }}>
          <Group justify="space-between" mb="sm">
            <Title order={2} size="h4">
              {title}
            </Title>
            <CloseButton aria-label={words('close')} onClick={onClose} />
          </Group>
          <div style={{ flex: 1, minHeight: 0, display: 'grid' }}>{children}</div>
        </Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  )
}
