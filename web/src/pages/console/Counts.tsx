import { SimpleGrid, Text } from '@mantine/core'
import { useFormat } from '@/app/session'
import classes from './Console.module.css'
import { useConsoleWords } from './console.words'

export function Counts({ of }: { of: Record<string, number> }) {
  const words = useConsoleWords()
  const format = useFormat()
  return (
    <SimpleGrid cols={3} component="dl" m={0}>
      {(['todo', 'doing', 'failed'] as const).map((status) => (
        <div key={status}>
          <Text component="dt" size="xs" c="dimmed">
            {words(status)}
          </Text>
          <Text
            component="dd"
            m={0}
            className={classes.number}
            c={
              status === 'failed' && (of.failed ?? 0) > 0
                ? 'light-dark(var(--mantine-color-red-9), var(--mantine-color-red-4))'
                : undefined
            }
          >
            {format.number(of[status] ?? 0)}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  )
}
