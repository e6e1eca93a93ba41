import { Autocomplete, Button, Group, Modal, Radio, Stack, TagsInput, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useKinds } from '@/parts/capsules/kinds'
import { ProjectField, useMakingProject } from '@/parts/capsules/ProjectField'
import { CAPSULES, kindsQuery, tagsQuery } from '@/parts/capsules/queries'
import { Waiting } from '@/parts/Waiting'
import { useRecallWords } from '../../recall.words'
import { type Acting, useChoosing } from './choosing'
import type { useMany } from './many'
import { useMerging } from './merging'

const TITLES = {
  tag: 'tagTitle',
  untag: 'untagTitle',
  project: 'projectTitle',
  kind: 'kindTitle',
  merge: 'mergeTitle',
} as const

/** Asks for what is to be done to those that were chosen: which tags, which project, which kind, merged into which. */
export function ActingDialog({ many }: { many: ReturnType<typeof useMany> }) {
  const words = useRecallWords()
  const { acting, act } = useChoosing()
  const close = () => act(null)
  return (
    <Modal
      opened={acting !== null}
      onClose={close}
      title={acting && words(TITLES[acting.deed], { count: acting.ids.length })}
    >
      {acting?.deed === 'merge' ? (
        <MergeInto acting={acting} onDone={close} />
      ) : (
        acting && <Change acting={acting} many={many} onDone={close} />
      )}
    </Modal>
  )
}

function Change({
  acting,
  many,
  onDone,
}: {
  acting: Acting
  many: ReturnType<typeof useMany>
  onDone: () => void
}) {
  const words = useRecallWords()
  const kinds = useKinds()
  const { deed, ids } = acting
  const tags = useQuery(tagsQuery).data?.items ?? []
  const own = useQuery(kindsQuery).data?.items ?? []
  const [accepted, setAccepted] = useState<string[]>([])
  const [typed, setTyped] = useState('') // also counts, without Enter
  const chosen = [...new Set([...accepted, typed.trim()])].filter(Boolean)
  const [kind, setKind] = useState('')
  const [project, setProject] = useState<string | null>(null)
  const making = useMakingProject()
  const ready = deed === 'project' ? !making : deed === 'kind' ? kind.trim() !== '' : chosen.length > 0
  const go = () => {
    onDone()
    if (deed === 'tag')
      void many.change(ids, { add_tags: chosen }, (count) =>
        words('taggedMany', { count, tags: chosen.join(', ') }),
      )
    if (deed === 'untag')
      void many.change(ids, { remove_tags: chosen }, (count) =>
        words('untaggedMany', { count, tags: chosen.join(', ') }),
      )
    if (deed === 'kind')
      void many.change(ids, { kind: kinds.kind(kind) }, (count) => words('kindMany', { count, kind }))
    if (deed === 'project')
      void many.change(ids, { project_id: project }, (count) => words('movedMany', { count }))
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (ready) go()
      }}
    >
      <Stack gap="md">
        {(deed === 'tag' || deed === 'untag') && (
          <TagsInput
            label={words('tags')}
            value={accepted}
            onChange={setAccepted}
            searchValue={typed}
            onSearchChange={setTyped}
            data={tags.map((one) => one.tag)}
            limit={20}
            maxTags={20}
            splitChars={[',', '，']}
            acceptValueOnBlur
            data-autofocus
          />
        )}
        {deed === 'kind' && (
          <Autocomplete
            label={words('kind')}
            value={kind}
            onChange={setKind}
            data={kinds.offered(own.map((one) => one.value))}
            maxLength={50}
            data-autofocus
          />
        )}
        {deed === 'project' && <ProjectField value={project} onChange={setProject} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onDone}>
            {words('cancel')}
          </Button>
          <Button type="submit" disabled={!ready}>
            {words('apply')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function MergeInto({ acting, onDone }: { acting: Acting; onDone: () => void }) {
  const words = useRecallWords()
  const { clear } = useChoosing()
  const [into, setInto] = useState(acting.ids[0] ?? '')
  const found = useQuery({
    queryKey: [...CAPSULES, 'chosen', acting.ids],
    queryFn: () =>
      Promise.all(
        acting.ids.map((id) =>
          ok(api.GET('/v1/memory/capsules/{capsule_id}', { params: { path: { capsule_id: id } } })),
        ),
      ),
  })
  const merging = useMerging(() => {
    clear()
    onDone()
  })
  if (!found.data) return <Waiting />
  return (
    <Stack gap="md">
      <Text size="sm">{words('mergeManyText')}</Text>
      <Radio.Group value={into} onChange={setInto} label={words('mergeKeep')}>
        <Stack gap={8} mt={8}>
          {found.data.map((one) => (
            <Radio key={one.id} value={one.id} label={one.title} />
          ))}
        </Stack>
      </Radio.Group>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onDone}>
          {words('cancel')}
        </Button>
        <Button
          loading={merging.isPending}
          onClick={() => merging.mutate({ ids: acting.ids.filter((id) => id !== into), into })}
        >
          {words('merge')}
        </Button>
      </Group>
    </Stack>
  )
}
