import { Group, Text, UnstyledButton } from '@mantine/core'
import { useCapsuleWords } from './capsules.words'
import classes from './Suggested.module.css'

/** Tags that fit, each added by a click. Their line is there before they are. */
export function Suggested({ tags, onAdd }: { tags: readonly string[]; onAdd: (tag: string) => void }) {
  const words = useCapsuleWords()
  return (
    <Group gap={6} className={classes.row} aria-live="polite">
      {tags.length > 0 && (
        <Text size="xs" c="dimmed">
          {words('suggested')}
        </Text>
      )}
      {tags.map((tag) => (
        <UnstyledButton
          key={tag}
          className={classes.tag}
          aria-label={words('addTag', { tag })}
          onClick={() => onAdd(tag)}
        >
          + {tag}
        </UnstyledButton>
      ))}
    </Group>
  )
}
