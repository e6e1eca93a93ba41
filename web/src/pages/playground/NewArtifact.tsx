import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { artifactsKey } from '@/parts/chat/workspace'
import { usePlaygroundWords } from './playground.words'

export function NewArtifact({ workspace, onClose }: { workspace: string; onClose: () => void }) {
  const words = usePlaygroundWords()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [content, setContent] = useState('')
  const create = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/chat/api/workspaces/{workspace_id}/artifacts', {
          params: { path: { workspace_id: workspace } },
          body: { name: name.trim(), content, media_type: 'text/markdown' },
        }),
      ),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: artifactsKey(workspace) })
      onClose()
    },
  })
  return (
    <Modal
      opened
      onClose={onClose}
      title={words('newArtifact')}
      size="lg"
      closeButtonProps={{ 'aria-label': words('cancel') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.mutate()
        }}
      >
        <Stack gap="sm">
          <TextInput
            label={words('artifactName')}
            placeholder="plan.md"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={255}
            data-autofocus
          />
          <Textarea
            label={words('artifactText')}
            value={content}
            onChange={(event) => setContent(event.currentTarget.value)}
            autosize
            minRows={8}
            maxRows={20}
          />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              {words('cancel')}
            </Button>
            <Button
              type="submit"
              loading={create.isPending}
              disabled={name.trim() === '' || content.trim() === ''}
            >
              {words('save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
