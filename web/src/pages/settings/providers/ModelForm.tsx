import { Autocomplete, Button, Group, PasswordInput, Select, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { PRESETS, presetOf, type Use } from './presets'
import { useProviderWords } from './providers.words'
import { Trial } from './Trial'
import { type Kept, useConnect, useTrial, type Wanted } from './useProviders'

/** Which provider, where it is, its key and a model: tried with a real small call before it is used. */
export function ModelForm({
  use,
  provider,
  model: chosen,
  onSaved,
}: {
  use: Use
  provider: Kept | undefined
  model: string | null
  onSaved?: () => void
}) {
  const words = useProviderWords()
  const trial = useTrial()
  const connect = useConnect(use)
  const [preset, setPreset] = useState(presetOf(provider))
  const [address, setAddress] = useState(provider?.base_url ?? PRESETS[presetOf(provider)]!.base ?? '')
  const [key, setKey] = useState('')
  const [model, setModel] = useState(chosen ?? provider?.models[0] ?? '')
  const like = PRESETS[preset]!
  const kind = like.kind[use]!
  const base_url = like.local ? address.trim() : like.base
  const same =
    provider !== undefined && provider.kind === kind && (provider.base_url ?? '') === (base_url ?? '')
  const kept = same && provider.key.set
  const named = model.trim()
  const wanted = (): Wanted => ({
    name: provider?.name ?? (use === 'chat' ? 'main' : 'vectors'),
    kind,
    base_url,
    models: models(use, same ? provider.models : [], named),
    // Left out, the one that is kept for this address stays; null says that there is none.
    ...(key ? { key } : kept ? {} : { key: null }),
  })
  const offered = trial.data?.models.length ? trial.data.models : use === 'embeddings' ? like.embeds : []
  const ready = (like.local ? address.trim() !== '' : key !== '' || kept) && (use === 'chat' || named !== '')
  const choose = (next: string) => {
    setPreset(next)
    setAddress(PRESETS[next]!.base ?? '')
    setKey('')
    setModel('')
    trial.reset()
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        connect.mutate(
          { wanted: wanted(), model: named || null },
          {
            onSuccess: () => {
              setKey('')
              onSaved?.()
            },
          },
        )
      }}
    >
      <Stack gap="sm">
        <Select
          label={words('preset')}
          data={Object.entries(PRESETS)
            .filter(([, one]) => one.kind[use])
            .map(([value, one]) => ({ value, label: one.name || words('other') }))}
          value={preset}
          onChange={(next) => next && choose(next)}
          allowDeselect={false}
        />
        {like.local && (
          <TextInput
            label={words('address')}
            description={words('addressHow')}
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
            type="url"
            spellCheck={false}
            maxLength={2000}
          />
        )}
        <PasswordInput
          label={words('key')}
          description={
            kept
              ? provider.key.last4
                ? words('keyKept', { end: provider.key.last4 })
                : words('keyKeptShort')
              : like.local
                ? words('keyNone')
                : words('keyStored')
          }
          error={kept && !provider.key.usable ? words('unusable') : undefined}
          value={key}
          onChange={(event) => setKey(event.currentTarget.value.trim())}
          autoComplete="off"
          maxLength={4096}
          visibilityToggleButtonProps={{ 'aria-label': words('showKey') }}
        />
        <Autocomplete
          label={words('model')}
          description={use === 'chat' ? words('modelHow') : words('modelNeeded')}
          data={offered}
          value={model}
          onChange={setModel}
          limit={100}
          maxLength={200}
          spellCheck={false}
        />
        <Group gap="xs">
          <Button
            variant="default"
            disabled={!ready}
            loading={trial.isPending}
            onClick={() => trial.mutate({ provider: wanted(), model: named || null, use })}
          >
            {words('test')}
          </Button>
          <Button type="submit" disabled={!ready} loading={connect.isPending}>
            {words('save')}
          </Button>
        </Group>
        <Trial result={trial.data} error={trial.error} />
      </Stack>
    </form>
  )
}

/** Which of them clients may name: for embeddings the one; else as it was, with the chosen one among them. */
function models(use: Use, before: string[], named: string): string[] {
  if (use === 'embeddings') return named ? [named] : []
  return before.length === 0 || !named || before.includes(named) ? before : [named, ...before]
}
