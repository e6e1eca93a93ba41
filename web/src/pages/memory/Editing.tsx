import { Alert, Button, Group, Stack, Textarea } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useMemoryWords } from './memory.words'
import { SHELF, type Whole } from './place'
import { pretty } from './Sheet'
import { rewrite } from './ways'

/** Other words for one memory, in the place of those that it has. */
export function Editing({ memory, onDone }: { memory: Whole; onDone: () => void }) {
  const words = useMemoryWords()
  const client = useQueryClient()
  const of_item = memory.kind === 'item'
  const [text, setText] = useState(of_item ? pretty(memory.text) : memory.text)
  const saving = useMutation({
    mutationFn: async () => {
      if (of_item && !isObject(text)) throw new Error(words('notJson'))
      return rewrite(memory, text)
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: SHELF })
      notifications.show({ message: words('isChanged') })
      onDone()
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        saving.mutate()
      }}
    >
      <Stack>
        <Textarea
          label={words('text')}
          autosize
          minRows={6}
          maxRows={24}
          data-autofocus
          value={text}
          styles={of_item ? { input: { fontFamily: 'var(--mantine-font-family-monospace)' } } : undefined}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            // Escape leaves the text, not the sheet.
            if (event.key === 'Escape') {
              event.preventDefault()
              event.stopPropagation()
              onDone()
            }
          }}
        />
        {saving.error && (
          <Alert color="red" role="alert">
            {saving.error.message}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            {words('cancel')}
          </Button>
          <Button type="submit" loading={saving.isPending} disabled={!text.trim()}>
            {words('save')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
