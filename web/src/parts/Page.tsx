import { Box, Group, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'

/** A page: its title, what can be done at its top right, its content. */
export function Page({
  title,
  about,
  actions,
  children,
  width = 1080,
}: {
  title: string
  about?: string
  actions?: ReactNode
  children: ReactNode
  width?: number | string
}) {
  useDocumentTitle(`${title} · Keepstone`)
  return (
    <Box maw={width} mx="auto" px={{ base: 'md', sm: 'xl' }} py={{ base: 'md', sm: 'lg' }}>
      <Group justify="space-between" align="flex-start" mb="md" gap="sm">
        <div>
          <Title order={1} size="h2">
            {title}
          </Title>
          {about && (
            <Text size="sm" c="dimmed" mt={2}>
              {about}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Box>
  )
}
