import { CloseButton, Group, Text } from '@mantine/core'
import classes from './Conversation.module.css'
import { usePlaygroundWords } from './playground.words'

export type LeftOutMemory = { id: string; content: string }

/** Memories that are not put before the model for the rest of this chat; each can be taken back. */
export function LeftOut({
  memories,
  onTakeBack,
}: {
  memories: LeftOutMemory[]
  onTakeBack: (id: string) => void
}) {
  const words = usePlaygroundWords()
  if (memories.length === 0) return null
  return (
    <Group gap={6} mb={6} role="group" aria-label={words('withoutThese')}>
      <Text size="xs" c="dimmed">
        {words('withoutThese')}
      </Text>
      {memories.map((one) => (
        <span key={one.id} className={classes.out}>
          <span title={one.content}>{one.content}</span>
          <CloseButton
            size="xs"
            radius="xl"
            aria-label={words('takeBack', { title: one.content })}
            onClick={() => onTakeBack(one.id)}
          />
        </span>
      ))}
    </Group>
  )
}
