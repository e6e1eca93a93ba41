import { Text, Title, UnstyledButton } from '@mantine/core'
import { IconChevronDown } from '@tabler/icons-react'
import { useFormat } from '@/app/session'
import classes from './Month.module.css'
import type { MonthOf } from './months'

export function Month({ month, onToggle }: { month: MonthOf; onToggle: () => void }) {
  const format = useFormat()
  return (
    <Title order={2} size="h5" className={classes.month}>
      <UnstyledButton className={classes.button} aria-expanded={month.open} onClick={onToggle}>
        <IconChevronDown size={16} stroke={1.8} aria-hidden className={classes.arrow} />
        {format.month(`${month.key}-15T12:00:00Z`)}{' '}
        <Text component="span" size="sm" c="dimmed" fw={400}>
          {format.number(month.count)}
        </Text>
      </UnstyledButton>
    </Title>
  )
}
