import {
  Alert,
  Button,
  FileButton,
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
import { failed } from '@/parts/told'
import { useChanged } from './calls'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'
import { readTranscript, type Turn } from './transcript'

type Given = { scope_id: string; transcript: Turn[] }

/** One message, or a pasted conversation, into a scope. */
export function Ingest({ scope, onAsk }: { scope: string; onAsk: () => void }) {
  const words = useScopesWords()
  const [form, setForm] = useState('transcript')
  const [speaker, setSpeaker] = useState('')
  const [text, setText] = useState('')
  const [time, setTime] = useState('')
  const [pasted, setPasted] = useState('')
  const [over, setOver] = useState(false)
  const changed = useChanged()
  const turns =
    form === 'one'
      ? speaker.trim() && text.trim()
        ? [{ speaker: speaker.trim(), text: text.trim(), ts: moment(time) }]
        : []
      : readTranscript(pasted)
  const keep = useMutation({
    mutationFn: (body: Given) => ok(api.POST('/v1/ingest', { body: body as Schema<'IngestIn'> })),
    onSuccess: () => {
      setText('')
      setPasted('')
      return changed()
    },
    onError: failed,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    keep.mutate({ scope_id: scope, transcript: turns })
  }
  const take = async (files: Iterable<File>) => {
    const texts = await Promise.all([...files].map((file) => file.text()))
    if (texts.length) {
      setForm('transcript')
      setPasted((before) => [before, ...texts].filter((text) => text.trim()).join('\n'))
    }
  }
  const names = [...new Set(turns.map((turn) => turn.speaker))]
  return (
    <Stack gap="md">
      <form
        className={classes.drop}
        data-over={over || undefined}
        onSubmit={submit}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault()
          setOver(false)
          void take(event.dataTransfer.files)
        }}
      >
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
          {form === 'transcript' && (
            <Group>
              <FileButton multiple onChange={(files) => void take(files)} accept=".txt,.md,.json,.log,text/*">
                {(props) => (
                  <Button {...props} size="xs" variant="default">
                    {words('file')}
                  </Button>
                )}
              </FileButton>
              <Text size="xs" c="dimmed">
                {words('dropHint')}
              </Text>
            </Group>
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
            <Button type="submit" loading={keep.isPending} disabled={turns.length === 0}>
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
