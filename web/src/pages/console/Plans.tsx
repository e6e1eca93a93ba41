import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { plansQuery } from './asks'
import { useConsoleWords } from './console.words'
import { PlanCard } from './PlanCard'
import { PlanForm } from './PlanForm'

export function Plans() {
  const words = useConsoleWords()
  const found = useQuery(plansQuery)
  const [making, setMaking] = useState(false)
  return (
    <Stack>
      <Group justify="space-between" gap="sm" wrap="nowrap" align="flex-start">
        <Text size="sm" c="dimmed">
          {words('plansHow')}
        </Text>
        <Button onClick={() => setMaking(true)} disabled={making} flex="none">
          {words('planNew')}
        </Button>
      </Group>
      {making && <PlanForm onDone={() => setMaking(false)} />}
      {found.isPending && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data?.items.map((plan) => (
        <PlanCard key={plan.name} plan={plan} />
      ))}
    </Stack>
  )
}
