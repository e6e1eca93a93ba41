import { ActionIcon, Button, Group, Stack } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSparkles } from '@tabler/icons-react'
import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { offerUndo } from '@/parts/offerUndo'
import { failed } from '@/parts/told'
import { Alike } from './Alike'
import { useCapsuleWords } from './capsules.words'
import { Fields, type Written } from './Fields'
import { useMakingProject } from './ProjectField'
import { CAPSULES, refresh, usageQuery } from './queries'
import { Refusal } from './Refusal'
import type { CapsuleDraft } from './SaveSheet'
import { Suggested } from './Suggested'
import { useSavedToast } from './savedToast'

type Created = Schema<'CreatedOut'>
const COMPARED = 8_000 // characters, as many as the server compares
const ENOUGH = 12 // characters: of fewer nothing can be said

/** What there is that says nearly the same, and tags that fit. */
function alikeQuery(content_md: string, title: string) {
  return queryOptions({
    queryKey: [...CAPSULES, 'alike', content_md, title],
    queryFn: ({ signal }) =>
      ok(api.POST('/v1/memory/capsules/alike', { body: { content_md, title: title || undefined }, signal })),
    enabled: content_md.length >= ENOUGH,
    staleTime: 60_000,
    retry: false,
    meta: { quiet: true },
  })
}

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
    project_id: draft.project_id ?? null,
  })

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

  const text = written.content_md.slice(0, COMPARED).trim()
  const title = written.title.trim()
  const [settled] = useDebouncedValue(text, 500)
  const [pressed, setPressed] = useState('') // the text that somebody wanted to save
  const compared = pressed === text ? text : settled
  const alike = useQuery({ ...alikeQuery(compared, title), placeholderData: keepPreviousData })
  const told = compared.length >= ENOUGH ? alike.data : undefined
  const similar = told?.similar ?? []

  const create = () =>
    ok(
      api.POST('/v1/memory/capsules', {
        body: {
          ...draft,
          ...written,
          title: written.title.trim() || undefined,
          kind: written.kind || 'note',
          project_id: written.project_id ?? undefined,
        },
      }),
    )
  const saving = useMutation({
    mutationFn: async () => {
      const { count, in_trash, in_cold } = await client.fetchQuery({ ...usageQuery, staleTime: 0 })
      return { capsule: await create(), first: count + in_trash + in_cold === 0 }
    },
    onSuccess: async ({ capsule, first }) => {
      onUnsaved(false)
      await refresh(client)
      if (!first) void toast(capsule, false)
      onSaved(capsule, first)
    },
    meta: { quiet: true },
  })
  // Kept first and merged then: so what was written has a history of its own, and can be taken out again.
  const merging = useMutation({
    mutationFn: async (into: string) => {
      const { id } = await create()
      if (id === into) return null
      return ok(api.POST('/v1/memory/capsules/merge', { body: { ids: [id], into } }))
    },
    onSuccess: async (capsule, into) => {
      onUnsaved(false)
      await refresh(client)
      if (!capsule) {
        onCancel()
        return
      }
      const undo = () =>
        ok(
          api.POST('/v1/memory/capsules/{capsule_id}/unmerge', {
            params: { path: { capsule_id: into } },
            body: { version: capsule.version },
          }),
        )
      offerUndo(words('merged', { title: capsule.title }), words('undo'), () => {
        undo()
          .then(() => refresh(client))
          .catch(failed)
      })
      onSaved({ ...capsule, similar: [], existing: false, moved_to_cold: [] }, false)
    },
    meta: { quiet: true },
  })

  /** Whoever is faster than the comparison is told before it is saved; who was told means it. */
  async function save() {
    if (similar.length === 0 && text.length >= ENOUGH && pressed !== text) {
      setPressed(text)
      const found = await client.fetchQuery(alikeQuery(text, title)).catch(() => null)
      if (found?.similar.length) return
    }
    saving.mutate()
  }
  function write(next: Written) {
    setWritten(next)
    onUnsaved(next.content_md.trim() !== '' || next.title.trim() !== '')
  }

  const making = useMakingProject()
  const empty = written.content_md.trim() === ''
  const refused = saving.error ?? merging.error
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!empty && !making) void save()
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
          suggested={
            <Suggested
              tags={(told?.tags ?? []).filter((tag) => !written.tags.includes(tag))}
              onAdd={(tag) => write({ ...written, tags: [...written.tags, tag] })}
            />
          }
        />
        {similar.length > 0 && <Alike similar={similar} busy={merging.isPending} onMerge={merging.mutate} />}
        {refused && <Refusal error={refused} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            {words('cancel')}
          </Button>
          <Button type="submit" loading={saving.isPending} disabled={empty || making}>
            {words(similar.length > 0 ? 'saveAnyway' : 'save')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
