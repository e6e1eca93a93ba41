import { Button, Group, Modal, NumberInput, Stack, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { offerUndo } from '@/parts/offerUndo'
import { useRefresh, useRefreshPlaces } from './place'
import { useRoomsWords } from './rooms.words'

/** Who an agent is: its name, what it is told, how much it reads at once. */
export function AgentForm({
  opened,
  onClose,
  onMade,
  onDelete,
  agent,
}: {
  opened: boolean
  onClose: () => void
  onMade?: (slug: string) => void
  onDelete?: () => void
  agent?: Schema<'AgentOut'>
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const refreshPlaces = useRefreshPlaces()
  const [name, setName] = useState('')
  const [slug, setSlug] = useState<string>()
  const [told, setTold] = useState('')
  const [size, setSize] = useState<number | string>(32_000)
  useEffect(() => {
    if (!opened) return
    setName(agent?.name ?? '')
    setSlug(undefined)
    setTold(agent?.instructions ?? '')
    setSize(agent?.context_window ?? 32_000)
  }, [opened, agent])
  const short = slug ?? shortened(name)
  const make = useMutation({
    mutationFn: (body: Schema<'AgentIn'>) => ok(api.POST('/v1/agents', { body })),
    onSuccess: async (made) => {
      onClose()
      await refresh()
      onMade?.(made.slug)
    },
  })
  const save = useMutation({
    mutationFn: (to: string) =>
      ok(
        api.PATCH('/v1/agents/{slug}', {
          params: { path: { slug: to } },
          body: { name: name.trim(), instructions: told, context_window: Number(size) },
        }),
      ),
    onSuccess: async () => {
      onClose()
      await refresh()
    },
  })
  const remove = useMutation({
    // One leaves before it is gone: what is open there would go on asking for it.
    onMutate: () => {
      onClose()
      onDelete?.()
    },
    mutationFn: (gone: Schema<'AgentOut'>) =>
      ok(api.DELETE('/v1/agents/{slug}', { params: { path: { slug: gone.slug } } })),
    onSuccess: async (_, gone) => {
      await refreshPlaces()
      // Made again under its slug it is the same agent, with what it remembered.
      const { slug, name, context_window, instructions } = gone
      offerUndo(words('agentDeleted', { name }), words('undo'), () =>
        make.mutate({ slug, name, context_window, instructions }),
      )
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (agent) save.mutate(agent.slug)
    else make.mutate({ slug: short, name: name.trim(), context_window: Number(size), instructions: told })
  }
  return (
    <Modal
      closeButtonProps={{ 'aria-label': frame('close') }}
      opened={opened}
      onClose={onClose}
      title={agent ? agent.name : words('newAgent')}
      size="lg"
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            data-autofocus
            label={words('name')}
            value={name}
            maxLength={255}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {!agent && (
            <TextInput
              label={words('slug')}
              description={words('slugHint')}
              value={short}
              maxLength={64}
              onChange={(event) =>
                setSlug(event.currentTarget.value.toLowerCase().replace(/[^a-z0-9_-]/g, '-'))
              }
            />
          )}
          <Textarea
            label={words('persona')}
            description={words('personaHint')}
            autosize
            minRows={4}
            maxRows={16}
            value={told}
            onChange={(event) => setTold(event.currentTarget.value)}
          />
          <NumberInput
            label={words('window')}
            description={words('windowHint')}
            min={256}
            max={10_000_000}
            step={1000}
            thousandSeparator
            value={size}
            onChange={setSize}
          />
          <Group justify="space-between">
            {agent ? (
              <Button
                variant="subtle"
                color="red"
                loading={remove.isPending}
                onClick={() => remove.mutate(agent)}
              >
                {words('deleteAgent')}
              </Button>
            ) : (
              <span />
            )}
            <Group>
              <Button variant="default" onClick={onClose}>
                {frame('cancel')}
              </Button>
              <Button
                type="submit"
                loading={make.isPending || save.isPending}
                disabled={!name.trim() || !(agent || short)}
              >
                {agent ? frame('save') : words('create')}
              </Button>
            </Group>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

function shortened(name: string): string {
  return name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
}
