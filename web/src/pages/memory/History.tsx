import { Accordion, Text } from '@mantine/core'
import { useFormat } from '@/app/session'
import classes from './Memory.module.css'
import { useMemoryWords } from './memory.words'
import type { Whole } from './place'

const CHANGES = {
  created: 'created',
  updated: 'updated',
  deleted: 'deletedThen',
  restored: 'restored',
  superseded: 'superseding',
  imported: 'imported',
} as const

/** Every wording that it had, the latest first. */
export function History({ memory }: { memory: Whole }) {
  const words = useMemoryWords()
  const format = useFormat()
  return (
    <Accordion order={3} variant="contained" multiple chevronPosition="left">
      {memory.versions.map((one) => (
        <Accordion.Item key={one.version} value={String(one.version)}>
          <Accordion.Control>
            <Text size="sm" component="span">
              {words('version', { number: one.version })}
            </Text>{' '}
            <Text size="sm" c="dimmed" component="span">
              {[
                words(CHANGES[one.change as keyof typeof CHANGES] ?? 'otherwise'),
                one.changed_by_name,
                format.minute(one.changed_at),
              ]
                .filter(Boolean)
                .join(' · ')}
            </Text>
          </Accordion.Control>
          <Accordion.Panel>
            {one.title && <Text fw={600}>{one.title}</Text>}
            <p className={classes.plain}>{one.text}</p>
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}
