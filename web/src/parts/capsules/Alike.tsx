import { Anchor, Button, Group, Text } from '@mantine/core'
import { Link } from 'react-router'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import classes from './Alike.module.css'
import { useCapsuleWords } from './capsules.words'

/** What one has that says nearly the same as what is being written: open it, or add this to it. */
export function Alike({
  similar,
  busy,
  onMerge,
}: {
  similar: readonly Schema<'SimilarOut'>[]
  busy: boolean
  onMerge: (id: string) => void
}) {
  const words = useCapsuleWords()
  const format = useFormat()
  return (
    <section
      className={classes.box}
      aria-live="polite"
      aria-label={words('alike', { count: similar.length })}
    >
      <Text size="sm" fw={600}>
        {words('alike', { count: similar.length })}
      </Text>
      <Text size="xs" c="dimmed" mb={6}>
        {words('alikeHint')}
      </Text>
      {similar.map((one) => (
        <Group key={one.id} className={classes.one} justify="space-between" gap="xs" wrap="nowrap">
          <div className={classes.words}>
            <Anchor
              component={Link}
              to={`/dashboard/recall?capsule=${one.id}`}
              target="_blank"
              rel="noopener"
              size="sm"
              c="inherit"
              fw={500}
              aria-label={words('openNamed', { title: one.title })}
            >
              {one.title}
            </Anchor>
            <Text size="xs" c="dimmed">
              {words('alikeBy', { percent: format.percent(one.similarity) })}
            </Text>
          </div>
          <Button
            size="xs"
            variant="light"
            flex="none"
            loading={busy}
            aria-label={words('mergeNamed', { title: one.title })}
            onClick={() => onMerge(one.id)}
          >
            {words('merge')}
          </Button>
        </Group>
      ))}
    </section>
  )
}
