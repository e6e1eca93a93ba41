import {
  Accordion,
  Button,
  Code,
  Group,
  List,
  NumberInput,
  Slider,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat, useMe } from '@/app/session'
import { moment } from '@/parts/relevance/moment'
import { SameCall } from '@/parts/relevance/SameCall'
import { TraceLink } from '@/parts/TraceLink'
import { failed } from '@/parts/told'
import { Sources } from './Cited'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'

type Asked = Partial<Schema<'RecallIn'>> & Pick<Schema<'RecallIn'>, 'scope_id' | 'message'>

/** What a scope knows that matters to what is being said. */
export function Recall({ scope, onOpen }: { scope: string; onOpen: (id: string) => void }) {
  const words = useScopesWords()
  const format = useFormat()
  const me = useMe()
  const [text, setText] = useState('')
  const [speaker, setSpeaker] = useState<string>()
  const [asOf, setAsOf] = useState('')
  const [least, setLeast] = useState(0.5)
  const [most, setMost] = useState<number | string>(10)
  const name = speaker ?? me?.user?.name ?? ''
  const recall = useMutation({
    mutationFn: (body: Asked) => ok(api.POST('/v1/recall', { body: body as Schema<'RecallIn'> })),
    onError: failed,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    recall.mutate({
      scope_id: scope,
      message: { speaker: name.trim(), text: text.trim() },
      limit: Number(most) || 10,
      min_relevance: least,
      ...(asOf && { as_of: moment(asOf) }),
    })
  }
  const found = recall.data
  return (
    <Stack gap="md">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label={words('arriving')}
            description={words('recallHint')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <TextInput
            label={words('speaker')}
            description={words('speakerHint')}
            value={name}
            maxLength={255}
            onChange={(event) => setSpeaker(event.currentTarget.value)}
          />
          <div>
            <Text size="sm" fw={500} component="div" id="least">
              {words('least', { value: format.percent(least) })}
            </Text>
            <Text size="xs" c="dimmed">
              {words('leastHint')}
            </Text>
            <Slider
              className={classes.slider}
              thumbLabel={words('leastLabel')}
              label={null}
              min={0}
              max={1}
              step={0.05}
              value={least}
              onChange={setLeast}
            />
          </div>
          <Group grow align="flex-start">
            <NumberInput
              label={words('most')}
              value={most}
              onChange={setMost}
              min={1}
              max={100}
              hideControls
            />
            <TextInput
              type="datetime-local"
              label={words('asOf')}
              value={asOf}
              onChange={(event) => setAsOf(event.currentTarget.value)}
            />
          </Group>
          <Group justify="flex-end">
            <Button type="submit" loading={recall.isPending} disabled={!text.trim() || !name.trim()}>
              {words('recallIt')}
            </Button>
          </Group>
        </Stack>
      </form>
      <div aria-live="polite">
        {found && (
          <Stack gap="md">
            {found.degraded && <Text size="sm">{words('degraded')}</Text>}
            {found.evidence.length === 0 ? (
              <div className={classes.card}>
                <Text fw={600}>{words('nothing')}</Text>
                <Text size="sm" c="dimmed">
                  {words('nothingAbout')}
                </Text>
              </div>
            ) : (
              <section>
                <Title order={2} size="h5" mb="xs">
                  {words('evidence')}
                </Title>
                <Sources items={found.evidence} onOpen={onOpen} />
              </section>
            )}
            <Group justify="space-between">
              {found.trace_id && <TraceLink id={found.trace_id} />}
              <Text size="xs" c="dimmed">
                {words('credits', { count: found.usage.credits })}
              </Text>
            </Group>
            {found.people.some((one) => one.facts.length) && (
              <section className={classes.card}>
                <Title order={2} size="h5" mb="xs">
                  {words('aboutPeople')}
                </Title>
                {found.people.map((one) => (
                  <div key={one.speaker}>
                    <Text fw={600} size="sm">
                      {one.speaker}
                    </Text>
                    <List size="sm" mb="xs">
                      {one.facts.map((fact) => (
                        <List.Item key={fact}>{fact}</List.Item>
                      ))}
                    </List>
                  </div>
                ))}
              </section>
            )}
            {found.context && (
              <Accordion variant="contained" chevronPosition="left">
                <Accordion.Item value="context">
                  <Accordion.Control>{words('context')}</Accordion.Control>
                  <Accordion.Panel>
                    <Text size="sm" c="dimmed" mb="xs">
                      {words('contextAbout')}
                    </Text>
                    <Code block className={classes.context} tabIndex={0}>
                      {found.context}
                    </Code>
                  </Accordion.Panel>
                </Accordion.Item>
              </Accordion>
            )}
          </Stack>
        )}
      </div>
      {recall.variables && <SameCall path="/v1/recall" body={recall.variables} />}
    </Stack>
  )
}
