import { Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

/** A part of a trace with its title, and at the right a number or a name. */
export function Section({
  title,
  beside,
  children,
}: {
  title: string
  beside?: ReactNode
  children: ReactNode
}) {
  return (
    <section aria-label={title}>
      <Group justify="space-between" align="baseline" mb={8} wrap="nowrap">
        <Title order={3} size="h5">
          {title}
        </Title>
        {beside && (
          <Text size="sm" c="dimmed" component="div">
            {beside}
          </Text>
        )}
      </Group>
      {children}
    </section>
  )
}
