import { Alert, Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { IconQuestionMark } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api, ok } from '@/api/client'
import { spoken } from '@/app/words'
import { useAddress } from '@/parts/address'
import { Evidence } from '@/parts/relevance/Evidence'
import { moment } from '@/parts/relevance/moment'
import { SameCall } from '@/parts/relevance/SameCall'
import { EXAMPLE, QUESTIONS } from './example'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'

/** A question to a scope: the answer with what it stands on, or that nothing there answers it. */
export function Ask({ scope, remember }: { scope: string; remember: (scope: string) => void }) {
  const words = useScopesWords()
  const [params, change] = useAddress()
  const [question, setQuestion] = useState(params.get('q') ?? '')
  const [asOf, setAsOf] = useState('')
  const ask = useMutation({
    mutationFn: (body: { scope_id: string; question: string; as_of?: string }) =>
      ok(api.POST('/v1/ask', { body })),
    onSuccess: () => remember(scope),
  })
  const send = (text: string) => {
    change({ q: text }, { replace: true })
    ask.mutate({ scope_id: scope, question: text, ...(asOf && { as_of: moment(asOf) }) })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (scope && question.trim()) send(question.trim())
  }
  const found = ask.data
  return (
    <Stack gap="md">
      <form className={classes.card} onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label={words('question')}
            description={words('questionHint')}
            value={question}
            onChange={(event) => setQuestion(event.currentTarget.value)}
            error={!scope && question ? words('noScope') : undefined}
          />
          {scope === EXAMPLE && (
            <Group gap="xs" role="group" aria-label={words('tryThese')}>
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
          <Group align="flex-end" justify="space-between">
            <TextInput
              type="datetime-local"
              label={words('asOf')}
              description={words('asOfHint')}
              value={asOf}
              onChange={(event) => setAsOf(event.currentTarget.value)}
            />
            <Button type="submit" loading={ask.isPending} disabled={!scope || !question.trim()}>
              {words('askIt')}
            </Button>
          </Group>
        </Stack>
      </form>
      <div aria-live="polite">
        {found && (
          <Stack gap="md">
            {found.abstained ? (
              <Alert
                variant="default"
                icon={<IconQuestionMark aria-hidden />}
                title={words('abstained')}
                className={classes.card}
              >
                <Text size="sm">{words(found.evidence.length ? 'abstainedAbout' : 'abstainedNothing')}</Text>
              </Alert>
            ) : (
              <section className={classes.card}>
                <Title order={2} size="h5" mb={6}>
                  {words('answer')}
                </Title>
                <Text className={classes.answer}>{found.answer}</Text>
              </section>
            )}
            {found.evidence.length > 0 && (
              <section>
                <Group justify="space-between" mb="xs">
                  <Title order={2} size="h5">
                    {words('evidence')}
                  </Title>
                  <Text size="xs" c="dimmed">
                    {words('credits', { count: found.usage.credits })}
                  </Text>
                </Group>
                <Evidence items={found.evidence} />
              </section>
            )}
          </Stack>
        )}
      </div>
      {ask.variables && <SameCall path="/v1/ask" body={ask.variables} />}
    </Stack>
  )
}
