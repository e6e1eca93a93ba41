import {
  Alert,
  Button,
  Group,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { moment } from '@/parts/relevance/moment'
import { SameCall } from '@/parts/relevance/SameCall'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'
import { readTranscript } from './transcript'

type Given = { scope_id: string; transcript: Pick<Schema<'TurnIn'>, 'speaker' | 'text' | 'ts'>[] }

/** One message, or a pasted conversation, into a scope. */
export function Ingest({
  scope,
  remember,
  onAsk,
}: {
  scope: string
  remember: (scope: string) => void
  onAsk: () => void
}) {
  const words = useScopesWords()
  const [form, setForm] = useState('transcript')
  const [speaker, setSpeaker] = useState('')
  const [text, setText] = useState('')
  const [time, setTime] = useState('')
  const [pasted, setPasted] = useState('')
  const turns =
    form === 'one'
      ? speaker.trim() && text.trim()
        ? [{ speaker: speaker.trim(), text: text.trim(), ts: moment(time) }]
        : []
      : readTranscript(pasted)
  const keep = useMutation({
    mutationFn: (body: Given) => ok(api.POST('/v1/ingest', { body: body as Schema<'IngestIn'> })),
    onSuccess: () => {
      remember(scope)
      setText('')
      setPasted('')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    keep.mutate({ scope_id: scope, transcript: turns })
  }
  const names = [...new Set(turns.map((turn) => turn.speaker))]
  return (
    <Stack gap="md">
      <form className={classes.card} onSubmit={submit}>
        <Stack gap="sm">
          <SegmentedControl
            aria-label={words('form')}
            value={form}
            onChange={setForm}
            data={[
              { value: 'transcript', label: words('transcript') },
              { value: 'one', label: words('one') },
            ]}
            style={{ alignSelf: 'flex-start' }}
          />
          {form === 'one' ? (
            <>
              <SimpleGrid cols={{ base: 1, xs: 2 }}>
                <TextInput
                  label={words('speaker')}
                  value={speaker}
                  maxLength={255}
                  onChange={(event) => setSpeaker(event.currentTarget.value)}
                />
                <TextInput
                  type="datetime-local"
                  label={words('time')}
                  value={time}
                  onChange={(event) => setTime(event.currentTarget.value)}
                />
              </SimpleGrid>
              <Textarea
                label={words('text')}
                autosize
                minRows={3}
                maxRows={12}
                value={text}
                onChange={(event) => setText(event.currentTarget.value)}
              />
            </>
          ) : (
            <Textarea
              label={words('lines')}
              description={words('linesHint')}
              placeholder={words('linesPlaceholder')}
              autosize
              minRows={6}
              maxRows={18}
              value={pasted}
              onChange={(event) => setPasted(event.currentTarget.value)}
            />
          )}
          <Group justify="space-between">
            <Text size="sm" c="dimmed" aria-live="polite">
              {form === 'transcript' && pasted.trim()
                ? turns.length
                  ? words('from', {
                      messages: words('read', { count: turns.length }),
                      names: names.slice(0, 4).join(', ') + (names.length > 4 ? ' …' : ''),
                    })
                  : words('unread')
                : words('forever')}
            </Text>
            <Button type="submit" loading={keep.isPending} disabled={!scope || turns.length === 0}>
              {words('keep')}
            </Button>
          </Group>
        </Stack>
      </form>
      <div aria-live="polite">
        {keep.data && (
          <Alert variant="default" className={classes.card}>
            <Group justify="space-between">
              <Text size="sm">
                {keep.data.ingested
                  ? words('kept', { count: keep.data.ingested, scope: keep.data.scope_id })
                  : words('keptNone')}
              </Text>
              <Button size="xs" variant="light" onClick={onAsk}>
                {words('next')}
              </Button>
            </Group>
          </Alert>
        )}
      </div>
      {keep.variables && <SameCall path="/v1/ingest" body={keep.variables} />}
    </Stack>
  )
}
