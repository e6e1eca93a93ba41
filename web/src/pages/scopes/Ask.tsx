import { Alert, Button, Collapse, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconQuestionMark } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok } from '@/api/client'
import { spoken } from '@/app/words'
import { useAddress } from '@/parts/address'
import { moment } from '@/parts/relevance/moment'
import { SameCall } from '@/parts/relevance/SameCall'
import { TraceLink } from '@/parts/TraceLink'
import { failed } from '@/parts/told'
import { Answer, Sources } from './Cited'
import { EXAMPLE, QUESTIONS } from './example'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'

/** A question to a scope: the answer with what it stands on, or that nothing there answers it. */
export function Ask({ scope, onOpen }: { scope: string; onOpen: (id: string) => void }) {
  const words = useScopesWords()
  const [params, change] = useAddress()
  const [question, setQuestion] = useState(params.get('q') ?? '')
  const [asOf, setAsOf] = useState('')
  const [more, { toggle }] = useDisclosure()
  const ask = useMutation({
    mutationFn: (body: { scope_id: string; question: string; as_of?: string }) =>
      ok(api.POST('/v1/ask', { body })),
    onError: failed,
  })
  const send = (text: string) => {
    change({ q: text }, { replace: true })
    ask.mutate({ scope_id: scope, question: text, ...(asOf && { as_of: moment(asOf) }) })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (question.trim()) send(question.trim())
  }
  const found = ask.data
  return (
    <Stack gap="md">
      <form onSubmit={submit}>
        <Stack gap="xs">
          <Group gap="xs" wrap="nowrap" align="flex-end">
            <TextInput
              flex={1}
              label={words('question')}
              placeholder={words('questionPlaceholder')}
              value={question}
              onChange={(event) => setQuestion(event.currentTarget.value)}
            />
            <Button type="submit" loading={ask.isPending} disabled={!question.trim()}>
              {words('askIt')}
            </Button>
          </Group>
          {scope === EXAMPLE && (
            <Group gap={6} role="group" aria-label={words('tryThese')}>
              {QUESTIONS[spoken()].map((one) => (
                <Button
                  key={one}
                  size="compact-sm"
                  variant="default"
                  fw={400}
                  onClick={() => {
                    setQuestion(one)
                    send(one)
                  }}
                >
                  {one}
                </Button>
              ))}
            </Group>
          )}
          <Group justify="space-between" gap="xs">
            <Text size="xs" c="dimmed">
              {words('questionHint')}
            </Text>
            <Button size="compact-xs" variant="subtle" color="gray" aria-expanded={more} onClick={toggle}>
              {words('asOfOpen')}
            </Button>
          </Group>
          <Collapse expanded={more}>
            <TextInput
              type="datetime-local"
              label={words('asOf')}
              description={words('asOfHint')}
              value={asOf}
              onChange={(event) => setAsOf(event.currentTarget.value)}
            />
          </Collapse>
        </Stack>
      </form>
      <div aria-live="polite">
        {found && (
          <Stack gap="md">
            {found.abstained ? (
              <Alert variant="default" icon={<IconQuestionMark aria-hidden />} title={words('abstained')}>
                <Text size="sm">{words(found.evidence.length ? 'abstainedAbout' : 'abstainedNothing')}</Text>
              </Alert>
            ) : (
              <section className={classes.card}>
                <Title order={2} size="h5" mb={6}>
                  {words('answer')}
                </Title>
                <Answer text={found.answer} evidence={found.evidence} onOpen={onOpen} />
              </section>
            )}
            <Group justify="space-between">
              {found.trace_id && <TraceLink id={found.trace_id} />}
              <Text size="xs" c="dimmed">
                {words('credits', { count: found.usage.credits })}
              </Text>
            </Group>
            {found.evidence.length > 0 && (
              <section>
                <Title order={2} size="h5" mb="xs">
                  {words('evidence')}
                </Title>
                <Sources items={found.evidence} onOpen={onOpen} />
              </section>
            )}
          </Stack>
        )}
      </div>
      {ask.variables && <SameCall path="/v1/ask" body={ask.variables} />}
    </Stack>
  )
}
