import { Box, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './Row.module.css'

/** A line of a list: what it is, and what can be done with it. */
export function Row({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <Group component="li" className={classes.row} gap="xs">
      <Box flex="1 1 200px" miw={0}>
        {children}
      </Box>
      {action && <Box className={classes.action}>{action}</Box>}
    </Group>
  )
}

export function Rows({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ul className={classes.rows} aria-label={label}>
      {children}
    </ul>
  )
}
