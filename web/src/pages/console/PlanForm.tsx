import { Button, Group, NumberInput, SimpleGrid, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { Card } from './Card'
import { useConsoleWords } from './console.words'

const MB = 1024 * 1024
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/
const LIMITS = ['capacity', 'queries', 'credits', 'tokens', 'key', 'account', 'position'] as const
type Written = Record<(typeof LIMITS)[number], string | number>

/** Changes a plan, or without one makes a new one. What is left empty is no limit. */
export function PlanForm({ plan, onDone }: { plan?: Schema<'PlanOut'>; onDone: () => void }) {
  const frame = useFrameWords()
  const words = useConsoleWords()
  const client = useQueryClient()
  const [name, setName] = useState(plan?.name ?? '')
  const [price, setPrice] = useState(plan?.price ?? '')
  const [written, setWritten] = useState<Written>({
    capacity: plan?.capacity_bytes == null ? '' : Math.round((plan.capacity_bytes / MB) * 1000) / 1000,
    queries: plan?.monthly_queries ?? '',
    credits: plan?.monthly_credits ?? '',
    tokens: plan?.monthly_tokens ?? '',
    key: plan?.key_per_minute ?? '',
    account: plan?.account_per_minute ?? '',
    position: plan?.position ?? '',
  })
  const number = (field: keyof Written) => (written[field] === '' ? null : Number(written[field]))
  const capacity = number('capacity')
  const save = useMutation({
    mutationFn: () =>
      ok(
        api.PUT('/x_console/api/plans/{plan}', {
          params: { path: { plan: name } },
          body: {
            price: price.trim() || null,
            capacity_bytes: capacity === null ? null : Math.round(capacity * MB),
            monthly_queries: number('queries'),
            monthly_credits: number('credits'),
            monthly_tokens: number('tokens'),
            key_per_minute: number('key'),
            account_per_minute: number('account'),
            position: number('position'),
          },
        }),
      ),
    onSuccess: (saved) => {
      void client.invalidateQueries({ queryKey: ['console', 'plans'] })
      void client.invalidateQueries({ queryKey: ['plans'] })
      notifications.show({ message: words('planSaved', { name: saved.name }) })
      onDone()
    },
  })
  const labels: Record<keyof Written, string> = {
    capacity: words('capacityMb'),
    queries: words('monthlyQueries'),
    credits: words('monthlyCredits'),
    tokens: words('monthlyTokens'),
    key: words('perKey'),
    account: words('perAccount'),
    position: words('position'),
  }
  return (
    <Card title={plan?.name ?? words('planNew')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
          {!plan && (
            <TextInput
              label={words('planName')}
              description={words('planNameHow')}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              value={name}
              onChange={(event) => setName(event.currentTarget.value.toLowerCase())}
              maxLength={63}
              autoFocus
            />
          )}
          <TextInput
            label={words('price')}
            description={words('priceHow')}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            placeholder="$10/mo"
            value={price}
            onChange={(event) => setPrice(event.currentTarget.value)}
            maxLength={40}
          />
          {LIMITS.map((field) => (
            <NumberInput
              key={field}
              label={labels[field]}
              placeholder={
                field === 'credits' ? words('notRaised') : field === 'position' ? '' : words('noLimit')
              }
              value={written[field]}
              onChange={(value) => setWritten((before) => ({ ...before, [field]: value }))}
              min={field === 'key' || field === 'account' ? 1 : 0}
              max={['key', 'account', 'position'].includes(field) ? 1_000_000 : 2 ** 33}
              decimalScale={field === 'capacity' ? 3 : 0}
              thousandSeparator=" "
              allowNegative={false}
            />
          ))}
        </SimpleGrid>
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onDone}>
            {frame('cancel')}
          </Button>
          <Button type="submit" disabled={!NAME.test(name)} loading={save.isPending}>
            {frame('save')}
          </Button>
        </Group>
      </form>
    </Card>
  )
}
