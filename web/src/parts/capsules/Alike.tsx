import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import classes from './Alike.module.css'
import { useCapsuleWords } from './capsules.words'

/** Nearly the same was kept a short while ago: merge, or keep both. */
export function Alike({
  similar,
  busy,
  onMerge,
  onKeep,
}: {
  similar: readonly Schema<'SimilarOut'>[]
  busy: boolean
  onMerge: (id: string) => void
  onKeep: () => void
}) {
  const words = useCapsuleWords()
  const format = useFormat()
  return (
    <Stack gap="md" aria-live="polite">
      <Alert title={words('alike')}>
        <Text size="sm">{words('alikeHint')}</Text>
      </Alert>
      {similar.map((one) => (
        <Group key={one.id} className={classes.one} justify="space-between" gap="sm">
          <div>
            <Text fw={500}>{one.title}</Text>
            <Text size="xs" c="dimmed">
              {words('alikeBy', { percent: format.percent(one.similarity) })}
            </Text>
          </div>
          <Button size="xs" variant="light" loading={busy} onClick={() => onMerge(one.id)}>
            {words('merge')}
          </Button>
        </Group>
      ))}
      <Group justify="flex-end">
        <Button variant="default" onClick={onKeep} data-autofocus>
          {words('keepBoth')}
        </Button>
      </Group>
    </Stack>
  )
}
