import {
  Autocomplete,
  Button,
  Group,
  JsonInput,
  Modal,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { api, ok } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { offerUndo } from '@/parts/offerUndo'
import { moment } from '@/parts/relevance/moment'
import { type Node, useRefresh } from './calls'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'
import { readObject } from './useFilters'

const TYPES = ['note', 'decision', 'fact', 'preference', 'event', 'person']

/** A new node; `edited`: a correction of that one; `replaced`: a new one that takes its place. */
export function NodeForm({
  graph,
  opened,
  onClose,
  onStored,
  edited,
  replaced,
}: {
  graph: string
  opened: boolean
  onClose: () => void
  onStored?: (id: string) => void
  edited?: Node
  replaced?: Node
}) {
  const words = useGraphsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const client = useQueryClient()
  const from = edited ?? replaced
  const [content, setContent] = useState('')
  const [type, setType] = useState('note')
  const [metadata, setMetadata] = useState('{}')
  const [since, setSince] = useState('')
  useEffect(() => {
    if (!opened) return
    setContent(from?.content ?? '')
    setType(from?.node_type ?? 'note')
    setMetadata(JSON.stringify(from?.metadata ?? {}, null, 2))
    setSince('')
  }, [opened, from])
  const pairs = readObject(metadata)
  const path = { graph_id: graph }
  const revive = useMutation({
    // One after the other, and shown as far as it came: what failed for one says nothing of the others.
    mutationFn: async (ids: string[]) => {
      for (const id of ids) {
        await ok(
          api.POST('/v1/graphs/{graph_id}/nodes/{node_id}/revive', {
            params: { path: { ...path, node_id: id } },
          }),
        )
      }
    },
    onSettled: () => refresh(),
  })
  const save = useMutation({
    mutationFn: async () => {
      const body = { content: content.trim(), node_type: type.trim() || 'note', metadata: pairs ?? {} }
      if (edited) {
        const node = await ok(
          api.PATCH('/v1/graphs/{graph_id}/nodes/{node_id}', {
            params: { path: { ...path, node_id: edited.id } },
            body,
          }),
        )
        return { ...node, existing: false, superseded: [] as string[] }
      }
      return ok(
        api.POST('/v1/graphs/{graph_id}/nodes', {
          params: { path },
          body: {
            ...body,
            supersedes: replaced ? [replaced.id] : [],
            supersede: 'auto',
            valid_from: moment(since),
          },
        }),
      )
    },
    onSuccess: async (kept) => {
      onClose()
      client.removeQueries({ queryKey: ['recalled'] })
      await refresh()
      onStored?.(kept.id)
      const told = kept.existing
        ? words('existing')
        : kept.superseded.length
          ? words('storedSuperseding', { count: kept.superseded.length })
          : words('stored')
      const unasked = kept.superseded.filter((id) => id !== replaced?.id)
      if (unasked.length) offerUndo(told, words('undo'), () => revive.mutate(unasked))
      else notifications.show({ message: told, withCloseButton: false })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  const title = edited ? 'editTitle' : replaced ? 'replaceTitle' : 'storeTitle'
  const about = edited ? 'editAbout' : replaced ? 'replaceAbout' : 'storeAbout'
  return (
    <Modal
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={opened}
      onClose={onClose}
      title={words(title)}
      size="lg"
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {words(about)}
          </Text>
          <Textarea
            data-autofocus
            label={words('content')}
            autosize
            minRows={3}
            maxRows={14}
            value={content}
            onChange={(event) => setContent(event.currentTarget.value)}
          />
          <Autocomplete label={words('type')} data={TYPES} value={type} onChange={setType} maxLength={255} />
          <JsonInput
            className={classes.json}
            label={words('metadataEdit')}
            autosize
            minRows={2}
            maxRows={12}
            value={metadata}
            onChange={setMetadata}
            error={pairs ? undefined : words('notJson')}
          />
          {!edited && (
            <TextInput
              type="datetime-local"
              label={words('validFrom')}
              description={words('validFromHint')}
              value={since}
              onChange={(event) => setSince(event.currentTarget.value)}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {frame('cancel')}
            </Button>
            <Button type="submit" loading={save.isPending} disabled={!content.trim() || !pairs}>
              {frame('save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
