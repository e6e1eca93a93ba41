import { Box, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './Section.module.css'

/** A card with a heading: one thing that can be set or looked at. */
export function Section({
  title,
  about,
  action,
  children,
}: {
  title: string
  about?: ReactNode
  action?: ReactNode
  children?: ReactNode
}) {
  return (
    <Box component="section" className={classes.section} aria-label={title}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={2} flex="1 1 260px">
          <Title order={2} size="h4">
            {title}
          </Title>
          {about && (
            <Text size="sm" c="dimmed">
              {about}
            </Text>
          )}
        </Stack>
        {action && <Box className={classes.action}>{action}</Box>}
      </Group>
      {children && <Box mt="md">{children}</Box>}
    </Box>
  )
}

/** Sections side by side, as many as fit; together they take the whole width. */
export function Cards({ children }: { children: ReactNode }) {
  return <div className={classes.cards}>{children}</div>
}
