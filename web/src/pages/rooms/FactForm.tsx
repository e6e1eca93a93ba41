import { Button, Group, Stack, Switch, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useFrameWords } from '@/app/frame.words'
import { asJson, type Fact, type FactScope, putFact } from './facts'
import { useRefresh } from './place'
import { useRoomsWords } from './rooms.words'

/** A key and its value; the value before stays in its history. */
export function FactForm({ scope, fact, onDone }: { scope: FactScope; fact?: Fact; onDone: () => void }) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const [key, setKey] = useState(fact?.key ?? '')
  const [value, setValue] = useState(
    fact ? (typeof fact.value === 'string' ? fact.value : JSON.stringify(fact.value)) : '',
  )
  const [secret, setSecret] = useState(fact?.visibility === 'private')
  const save = useMutation({
    mutationFn: () => putFact(scope, key.trim(), asJson(value), secret),
    onSuccess: async () => {
      setKey('')
      setValue('')
      onDone()
      await refresh()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap={6}>
        <Group gap={6} align="flex-end" grow>
          <TextInput
            size="xs"
            label={words('key')}
            value={key}
            readOnly={fact !== undefined}
            maxLength={255}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
          <TextInput
            size="xs"
            label={words('value')}
            placeholder={words('valueHint')}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
        </Group>
        <Group justify="space-between" gap={6}>
          {scope.kind === 'user' ? (
            <Switch
              size="xs"
              label={words('onlyDirect')}
              checked={secret}
              onChange={(event) => setSecret(event.currentTarget.checked)}
            />
          ) : (
            <span />
          )}
          <Group gap={6}>
            {fact && (
              <Button size="xs" variant="default" onClick={onDone}>
                {frame('cancel')}
              </Button>
            )}
            <Button size="xs" type="submit" loading={save.isPending} disabled={!key.trim() || !value.trim()}>
              {fact ? frame('save') : words('addFact')}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  )
}
