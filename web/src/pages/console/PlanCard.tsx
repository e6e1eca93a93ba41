import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Card } from './Card'
import { useConsoleWords } from './console.words'
import { Facts } from './Facts'
import { PlanForm } from './PlanForm'

/** A plan, and in its place the form that changes it. */
export function PlanCard({ plan }: { plan: Schema<'PlanOut'> }) {
  const words = useConsoleWords()
  const format = useFormat()
  const [editing, setEditing] = useState(false)
  if (editing) return <PlanForm plan={plan} onDone={() => setEditing(false)} />
  const limit = (value: number | null, none = words('noLimit')) =>
    value === null ? none : format.number(value)
  return (
    <Card
      title={plan.name}
      action={
        <Button
          size="xs"
          variant="default"
          onClick={() => setEditing(true)}
          aria-label={words('planEditNamed', { name: plan.name })}
        >
          {words('planEdit')}
        </Button>
      }
    >
      <Facts
        of={[
          [words('price'), plan.price ?? words('priceNone')],
          [
            words('capacity'),
            plan.capacity_bytes === null ? words('noLimit') : format.bytes(plan.capacity_bytes),
          ],
          [words('monthlyQueries'), limit(plan.monthly_queries)],
          [words('monthlyCredits'), limit(plan.monthly_credits, words('notRaised'))],
          [words('monthlyTokens'), limit(plan.monthly_tokens)],
          [words('perKey'), limit(plan.key_per_minute)],
          [words('perAccount'), limit(plan.account_per_minute)],
        ]}
      />
    </Card>
  )
}
