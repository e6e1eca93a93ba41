import { Box, Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './Console.module.css'

export function Card({
  title,
  about,
  action,
  children,
}: {
  title: string
  about?: string
  action?: ReactNode
  children: ReactNode
}) {
  return (
    <Box component="section" aria-label={title} className={classes.card}>
      <Group justify="space-between" align="flex-start" mb="sm" gap="sm" wrap="nowrap">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          {about && (
            <Text size="sm" c="dimmed">
              {about}
            </Text>
          )}
        </div>
        {action}
      </Group>
      {children}
    </Box>
  )
}
