import { Text } from '@mantine/core'
import { useImportWords } from './import.words'
import type { ImportRun } from './useImports'

/** What was not brought over, and why; some of it by name. */
export function LeftOut({ of }: { of: ImportRun }) {
  const words = useImportWords()
  if (of.left_out.length === 0) return null
  return (
    <details>
      <Text component="summary" size="sm" fw={600} style={{ cursor: 'pointer' }}>
        {words('leftOut')} ({of.left_out.reduce((sum, one) => sum + one.count, 0)})
      </Text>
      {of.left_out.map((one) => (
        <div key={one.reason}>
          <Text size="sm" mt={6}>
            {words('leftOutLine', { count: one.count, reason: one.reason })}
          </Text>
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {one.examples.slice(0, 5).join(' · ')}
          </Text>
        </div>
      ))}
    </details>
  )
}
