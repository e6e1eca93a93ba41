import { Autocomplete, Button, Group, Textarea } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconPlus } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { memoriesKey, workspacesQuery } from '@/parts/chat/workspace'
import { usePlaygroundWords } from './playground.words'
import classes from './Side.module.css'

const CATEGORIES = ['fact', 'preference', 'instruction', 'decision']

/** A memory by hand: from no chat. */
export function AddMemory({ workspace }: { workspace: string }) {
  const words = usePlaygroundWords()
  const client = useQueryClient()
  const [opened, setOpened] = useState(false)
  const [content, setContent] = useState('')
  const [category, setCategory] = useState('')
  const add = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/chat/api/workspaces/{workspace_id}/memories', {
          params: { path: { workspace_id: workspace } },
          body: { content: content.trim(), category: category.trim() || undefined, supersede: 'auto' },
        }),
      ),
    onSuccess: (saved) => {
      setContent('')
      setCategory('')
      setOpened(false)
      notifications.show({
        message: words(saved.deduplicated ? 'knownAlready' : 'added'),
        withCloseButton: false,
      })
      void client.invalidateQueries({ queryKey: memoriesKey(workspace) })
      void client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
    },
  })
  if (!opened) {
    return (
      <Button
        variant="light"
        size="xs"
        leftSection={<IconPlus size={15} stroke={1.8} aria-hidden />}
        onClick={() => setOpened(true)}
      >
        {words('addMemory')}
      </Button>
    )
  }
  return (
    <form
      className={classes.card}
      onSubmit={(event) => {
        event.preventDefault()
        if (content.trim()) add.mutate()
      }}
    >
      <Textarea
        label={words('memoryText')}
        placeholder={words('memoryPlaceholder')}
        value={content}
        onChange={(event) => setContent(event.currentTarget.value)}
        autosize
        minRows={2}
        maxRows={10}
        autoFocus
      />
      <Autocomplete
        mt="xs"
        label={words('category')}
        placeholder={words('categoryHint')}
        data={CATEGORIES}
        value={category}
        onChange={setCategory}
        maxLength={255}
      />
      <Group gap="xs" mt="sm" justify="flex-end">
        <Button size="compact-sm" variant="default" onClick={() => setOpened(false)}>
          {words('cancel')}
        </Button>
        <Button size="compact-sm" type="submit" loading={add.isPending} disabled={content.trim() === ''}>
          {words('add')}
        </Button>
      </Group>
    </form>
  )
}
