import { Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './Empty.module.css'

/** Where there is nothing yet: what would be here, and what to do. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string
  children?: ReactNode
  action?: ReactNode
}) {
  return (
    <Stack align="center" gap="sm" className={classes.empty}>
      <img src="/static/keepstone.svg" alt="" width={72} height={72} className={classes.stones} />
      <Title order={2} size="h3" ta="center">
        {title}
      </Title>
      <Text c="dimmed" ta="center" maw={440} component="div">
        {children}
      </Text>
      {action}
    </Stack>
  )
}
