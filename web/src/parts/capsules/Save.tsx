import { ActionIcon, Button, Group, Stack } from '@mantine/core'
import { IconSparkles } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { Alike } from './Alike'
import { useCapsuleWords } from './capsules.words'
import { Fields, type Written } from './Fields'
import { refresh, usageQuery } from './queries'
import { Refusal } from './Refusal'
import type { CapsuleDraft } from './SaveSheet'
import { useSavedToast } from './savedToast'

type Created = Schema<'CreatedOut'>

/** Writing a new capsule and saving it. */
export function Save({
  draft,
  onUnsaved,
  onCancel,
  onSaved,
}: {
  draft: CapsuleDraft
  onUnsaved: (unsaved: boolean) => void
  onCancel: () => void
  onSaved: (capsule: Created, first: boolean) => void
}) {
  const words = useCapsuleWords()
  const client = useQueryClient()
  const toast = useSavedToast()
  const [written, setWritten] = useState<Written>({
    title: draft.title ?? '',
    content_md: draft.content_md,
    kind: draft.kind ?? 'note',
    tags: draft.tags ?? [],
  })
  const [kept, setKept] = useState<{ capsule: Created; first: boolean } | null>(null)

  const naming = useMutation({
    mutationFn: (content_md: string) => ok(api.POST('/v1/memory/capsules/title', { body: { content_md } })),
    // Whoever has begun to write a title meanwhile keeps theirs.
    onSuccess: (made) => setWritten((now) => (now.title ? now : { ...now, title: made.title })),
    meta: { quiet: true },
  })
  const name = naming.mutate
  useEffect(() => {
    if (!draft.title && draft.content_md.trim()) name(draft.content_md)
  }, [draft, name])

  const saving = useMutation({
    mutationFn: async () => {
      const { count, in_trash, in_cold } = await client.fetchQuery({ ...usageQuery, staleTime: 0 })
      const body = {
        ...draft,
        ...written,
        title: written.title.trim() || undefined,
        kind: written.kind || 'note',
      }
      const capsule = await ok(api.POST('/v1/memory/capsules', { body }))
      return { capsule, first: count + in_trash + in_cold === 0 }
    },
    onSuccess: async (made) => {
      onUnsaved(false)
      await refresh(client)
      if (made.capsule.similar.length) setKept(made)
      else finish(made.capsule, made.first)
    },
    meta: { quiet: true },
  })
  const merging = useMutation({
    mutationFn: (into: string) =>
      ok(api.POST('/v1/memory/capsules/merge', { body: { ids: [kept?.capsule.id ?? ''], into } })),
    onSuccess: async (capsule) => {
      await refresh(client)
      toast(capsule, true)
      onSaved({ ...capsule, similar: [], existing: false }, false)
    },
  })

  function finish(capsule: Created, first: boolean) {
    if (!first) toast(capsule, false)
    onSaved(capsule, first)
  }
  function write(next: Written) {
    setWritten(next)
    onUnsaved(next.content_md.trim() !== '' || next.title.trim() !== '')
  }

  if (kept) {
    return (
      <Alike
        similar={kept.capsule.similar}
        busy={merging.isPending}
        onMerge={merging.mutate}
        onKeep={() => finish(kept.capsule, kept.first)}
      />
    )
  }
  const empty = written.content_md.trim() === ''
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!empty) saving.mutate()
      }}
    >
      <Stack gap="md">
        <Fields
          value={written}
          onChange={write}
          naming={naming.isPending}
          titleAside={
            !written.title && !empty ? (
              <ActionIcon
                variant="subtle"
                aria-label={words('makeTitle')}
                title={words('makeTitle')}
                onClick={() => name(written.content_md)}
              >
                <IconSparkles size={16} stroke={1.6} aria-hidden />
              </ActionIcon>
            ) : undefined
          }
        />
        {saving.error && <Refusal error={saving.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            {words('cancel')}
          </Button>
          <Button type="submit" loading={saving.isPending} disabled={empty}>
            {words('save')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
