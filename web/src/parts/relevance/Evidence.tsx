import { Badge, Group, Stack, Text, Tooltip } from '@mantine/core'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Relevance } from './Relevance'
import classes from './Relevance.module.css'
import { useRelevanceWords } from './relevance.words'

/** What an answer stands on: who said it, when, and how likely it is what was asked for. */
export function Evidence({ items }: { items: Schema<'EvidenceOut'>[] }) {
  const words = useRelevanceWords()
  const format = useFormat()
  return (
    <Stack component="ol" gap="xs" className={classes.evidence} aria-label={words('evidence')}>
      {items.map((one) => (
        <li key={one.message_id} className={classes.card}>
          <Group justify="space-between" gap="xs">
            <Text size="sm">
              <Text span fw={600} size="sm">
                {one.speaker}
              </Text>
              <Text span c="dimmed" size="sm">
                {' · '}
                <time dateTime={one.ts}>{format.minute(one.ts)}</time>
              </Text>
            </Text>
            <Relevance value={one.relevance} />
          </Group>
          <blockquote className={classes.quote}>{one.text}</blockquote>
          {one.why && (
            <Group gap={6} mt="xs">
              {Object.entries(one.why)
                .sort(([, a], [, b]) => b - a)
                .slice(0, 6)
                .map(([name, weight]) => (
                  <Tooltip key={name} label={words('why')}>
                    <Badge variant="default" size="sm" tt="none" fw={400}>
                      {name} {weight.toFixed(2)}
                    </Badge>
                  </Tooltip>
                ))}
            </Group>
          )}
        </li>
      ))}
    </Stack>
  )
}
