import { Text, Title, UnstyledButton } from '@mantine/core'
import { IconChevronDown } from '@tabler/icons-react'
import { useFormat } from '@/app/session'
import { useRecallWords } from '../recall.words'
import classes from './Month.module.css'
import type { Line } from './months'

export function Month({
  line,
  more,
  onToggle,
}: {
  line: Extract<Line, { is: 'month' }>
  more: boolean
  onToggle: () => void
}) {
  const words = useRecallWords()
  const format = useFormat()
  const number = format.number(line.count)
  return (
    <Title order={2} size="h5" className={classes.month}>
      <UnstyledButton className={classes.button} aria-expanded={line.open} onClick={onToggle}>
        <IconChevronDown size={16} stroke={1.8} aria-hidden className={classes.arrow} />
        {format.month(line.at)}{' '}
        <Text component="span" size="sm" c="dimmed" fw={400}>
          {line.last && more ? words('soFar', { number }) : number}
        </Text>
      </UnstyledButton>
    </Title>
  )
}
