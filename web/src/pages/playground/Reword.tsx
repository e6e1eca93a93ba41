import { Button, Group, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import classes from './Conversation.module.css'
import { usePlaygroundWords } from './playground.words'

/** A question of one's own, worded anew: it is asked on a branch of its own. */
export function Reword({
  text,
  onCancel,
  onAsk,
}: {
  text: string
  onCancel: () => void
  onAsk: (text: string) => void
}) {
  const words = usePlaygroundWords()
  const [edited, setEdited] = useState(text)
  const ready = edited.trim() !== '' && edited !== text
  return (
    <div className={classes.reword}>
      <Textarea
        aria-label={words('reword')}
        value={edited}
        onChange={(event) => setEdited(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault()
            if (ready) onAsk(edited)
          }
        }}
        autosize
        minRows={2}
        maxRows={12}
        autoFocus
      />
      <Group gap="xs" mt={6} justify="space-between">
        <Text size="xs" c="dimmed">
          {words('rewordHint')}
        </Text>
        <Group gap="xs">
          <Button size="compact-sm" variant="default" onClick={onCancel}>
            {words('cancel')}
          </Button>
          <Button size="compact-sm" disabled={!ready} onClick={() => onAsk(edited)}>
            {words('askThis')}
          </Button>
        </Group>
      </Group>
    </div>
  )
}
