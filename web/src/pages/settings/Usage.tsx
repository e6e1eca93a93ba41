import { Button, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Meter } from './Meter'
import { Section } from './Section'
import { Spent } from './Spent'
import { useSettingsWords } from './settings.words'

export function Usage() {
  return (
    <>
      <Plan />
      <Spent />
    </>
  )
}

function Plan() {
  const words = useSettingsWords()
  const format = useFormat()
  const kept = useQuery({ queryKey: ['memory', 'usage'], queryFn: () => ok(api.GET('/v1/memory/usage')) })
  const spent = useQuery({
    queryKey: ['usage', 'month'],
    queryFn: () => ok(api.GET('/v1/usage', { params: { query: { by: 'action' } } })),
  })
  const offers = useQuery({ queryKey: ['plans'], queryFn: () => ok(api.GET('/v1/plans')) })
  const fault = kept.error ?? spent.error
  if (fault) return <Failed error={fault} retry={() => Promise.all([kept.refetch(), spent.refetch()])} />
  if (!kept.data || !spent.data) return <Waiting />
  const { month, plan } = spent.data
  const { bytes_used: used, quota_bytes: quota, count } = kept.data
  const elsewhere = offers.data?.upgrade_url
  return (
    <Section
      title={`${words('plan')}: ${plan.name}`}
      about={words('resets', { at: format.day(month.resets_at) })}
      action={
        elsewhere ? (
          <Button component="a" href={elsewhere} variant="light">
            {words('planUpgradeAt')}
          </Button>
        ) : (
          <Button component={Link} to="/pricing" variant="light">
            {words('planUpgrade')}
          </Button>
        )
      }
    >
      <Stack gap="lg">
        <Meter
          label={words('capacity')}
          used={used}
          all={quota}
          told={
            quota === null
              ? words('capacityFree', { used: format.bytes(used) })
              : words('capacityOf', { used: format.bytes(used), all: format.bytes(quota) })
          }
          about={words('capacityHow', { count })}
        />
        <Meter
          label={words('queries')}
          used={month.queries}
          all={plan.monthly_queries}
          told={
            plan.monthly_queries === null
              ? words('unlimited', { used: format.number(month.queries) })
              : words('ofMonth', {
                  used: format.number(month.queries),
                  all: format.number(plan.monthly_queries),
                })
          }
        />
        <Meter
          label={words('credits')}
          used={month.credits}
          all={month.credits_left === null ? null : month.credits + month.credits_left}
          told={
            month.credits_left === null
              ? words('creditsFree', { used: format.number(month.credits) })
              : words('creditsLeft', {
                  used: format.number(month.credits),
                  left: format.number(month.credits_left),
                })
          }
        />
      </Stack>
    </Section>
  )
}
