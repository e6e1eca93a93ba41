import { Button, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { meQuery } from '@/app/session'
import { BringIn } from '@/pages/settings/import/Import'
import { Mcp } from '@/pages/settings/Mcp'
import { ModelForm } from '@/pages/settings/providers/ModelForm'
import { providersQuery, serving } from '@/pages/settings/providers/useProviders'
import { CAPSULES } from '@/parts/capsules/queries'
import { Skeletons } from '@/parts/Skeletons'
import classes from './Welcome.module.css'
import { useWelcomeWords } from './welcome.words'

const STEPS = ['model', 'bring', 'connect'] as const
const EXAMPLES = ['example1', 'example2', 'example3', 'example4', 'example5'] as const

/** For whoever is new: three steps, each of which can be skipped. How far somebody is, the server knows. */
export function Welcome({ user }: { user: Schema<'UserOut'> }) {
  const words = useWelcomeWords()
  const client = useQueryClient()
  const [at, setAt] = useState(Math.min(user.welcome, 2))
  const keep = useMutation({
    mutationFn: (welcome: number) => ok(api.PATCH('/v1/me', { body: { welcome } })),
    scope: { id: 'me' },
    onSuccess: (now) => client.setQueryData(meQuery.queryKey, (me) => me && { ...me, user: now }),
  })
  const go = (next: number) => {
    if (next > user.welcome) keep.mutate(next)
    if (next < 3) setAt(next)
  }
  const step = STEPS[at]!
  return (
    <section className={classes.welcome} aria-label={words('title')}>
      <div className={classes.head}>
        <div>
          <Title order={2} size="h3">
            {words('title')}
          </Title>
          <Text size="sm" c="dimmed">
            {words('about')}
          </Text>
        </div>
        <Button variant="subtle" color="gray" size="sm" onClick={() => keep.mutate(3)}>
          {words('close')}
        </Button>
      </div>
      <ol className={classes.steps} aria-label={words('steps')}>
        {STEPS.map((one, number) => (
          <li
            key={one}
            className={classes.step}
            data-state={number <= at ? 'reached' : undefined}
            aria-current={number === at ? 'step' : undefined}
          >
            <Text size="sm" fw={number === at ? 600 : 400} truncate>
              {number + 1}. {words(`${one}Short`)}
            </Text>
          </li>
        ))}
      </ol>
      <div className={classes.body}>
        <div>
          <Title order={3} size="h4">
            {words(step)}
          </Title>
          <Text c="dimmed" size="sm">
            {words(`${step}How`)}
          </Text>
        </div>
        {step === 'model' && <Model operator={user.is_admin} onSaved={() => go(1)} />}
        {step === 'bring' && <Bring onDone={() => go(2)} />}
        {step === 'connect' && <Mcp />}
      </div>
      <div className={classes.foot}>
        {at > 0 && (
          <Button variant="default" onClick={() => setAt(at - 1)}>
            {words('back')}
          </Button>
        )}
        {at < 2 ? (
          <Button variant="light" onClick={() => go(at + 1)}>
            {words('skip')}
          </Button>
        ) : (
          <Button onClick={() => go(3)}>{words('finish')}</Button>
        )}
      </div>
    </section>
  )
}

function Model({ operator, onSaved }: { operator: boolean; onSaved: () => void }) {
  const words = useWelcomeWords()
  const { data } = useQuery({ ...providersQuery, enabled: operator })
  if (!operator) return <Text>{words('modelAsk')}</Text>
  if (!data) return <Skeletons lines={4} height={52} />
  if (serving(data, 'chat')) return <Text role="status">{words('modelThere')}</Text>
  return (
    <div className={classes.narrow}>
      <ModelForm use="chat" provider={undefined} model={null} onSaved={onSaved} />
    </div>
  )
}

function Bring({ onDone }: { onDone: () => void }) {
  const words = useWelcomeWords()
  const client = useQueryClient()
  const example = useMutation({
    mutationFn: async () => {
      for (const one of EXAMPLES)
        await ok(
          api.POST('/v1/memory/capsules', {
            body: { title: words(one), content_md: words(`${one}Text`), kind: 'note', tags: ['example'] },
          }),
        )
    },
    onSuccess: () => {
      notifications.show({ message: words('exampleDone') })
      onDone()
    },
    onSettled: () => client.invalidateQueries({ queryKey: CAPSULES }),
  })
  return (
    <>
      <BringIn />
      <div>
        <Button variant="default" loading={example.isPending} onClick={() => example.mutate()}>
          {words('example')}
        </Button>
        <Text size="sm" c="dimmed" mt={4}>
          {words('exampleHow')}
        </Text>
      </div>
    </>
  )
}
