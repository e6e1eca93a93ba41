import { Button, Group, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useBeforeUnload, useBlocker } from 'react-router'
import { api, ok, type Schema } from '@/api/client'
import { Discard } from '@/parts/capsules/Discard'
import { Fields, type Written } from '@/parts/capsules/Fields'
import { useMakingProject } from '@/parts/capsules/ProjectField'
import { CAPSULES, replace } from '@/parts/capsules/queries'
import { Refusal } from '@/parts/capsules/Refusal'
import { useRecallWords } from '../recall.words'

/** Changing a capsule. Leaving it in whatever way asks first, if something was changed. */
export function Editing({ capsule, onDone }: { capsule: Schema<'CapsuleOut'>; onDone: () => void }) {
  const words = useRecallWords()
  const client = useQueryClient()
  const { title, content_md, kind, tags, project_id } = capsule
  const [was] = useState<Written>({ title, content_md, kind, tags, project_id })
  const [written, setWritten] = useState(was)
  const [asking, setAsking] = useState(false)
  const changed = JSON.stringify(written) !== JSON.stringify(was)
  const saving = useMutation({
    mutationFn: () =>
      ok(
        api.PATCH('/v1/memory/capsules/{capsule_id}', {
          params: { path: { capsule_id: capsule.id } },
          body: { ...written, title: written.title.trim(), kind: written.kind || was.kind },
        }),
      ),
    onSuccess: (after) => {
      client.setQueryData([...CAPSULES, 'one', capsule.id], after)
      void replace(client, capsule.id, after)
      notifications.show({ message: words('saved') })
      onDone()
    },
    meta: { quiet: true },
  })
  const blocker = useBlocker(changed && !saving.isSuccess)
  useBeforeUnload((event) => {
    if (changed) event.preventDefault()
  })
  const making = useMakingProject()
  const empty = written.content_md.trim() === '' || written.title.trim() === ''
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (changed && !empty && !making) saving.mutate()
      }}
    >
      <Stack gap="md">
        <Fields value={written} onChange={setWritten} known />
        {saving.error && <Refusal error={saving.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={() => (changed ? setAsking(true) : onDone())}>
            {words('cancel')}
          </Button>
          <Button type="submit" disabled={!changed || empty || making} loading={saving.isPending}>
            {words('save')}
          </Button>
        </Group>
      </Stack>
      <Discard
        opened={asking || blocker.state === 'blocked'}
        onKeep={() => {
          setAsking(false)
          blocker.reset?.()
        }}
        onDiscard={() => {
          if (blocker.state === 'blocked') blocker.proceed()
          onDone()
        }}
      />
    </form>
  )
}
