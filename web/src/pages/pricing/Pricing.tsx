import { Accordion, Alert, SimpleGrid, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat, useMe, useSignedOut } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { Waiting } from '@/parts/Waiting'
import classes from './Pricing.module.css'
import { usePricingWords } from './pricing.words'
import { Tier } from './Tier'

const QUESTIONS = ['counts', 'limit', 'one', 'back', 'train', 'export', 'conversation'] as const

/** For everybody, signed in or not. */
export default function Pricing() {
  const frame = useFrameWords()
  const words = usePricingWords()
  const me = useMe()
  const nobody = useSignedOut()
  const found = useQuery({ queryKey: ['plans'], queryFn: () => ok(api.GET('/v1/plans')) })
  const offers = found.data?.items ?? []
  return (
    <Page title={frame('pricing')} about={words('about')}>
      {found.isPending && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && offers.length === 0 && <Empty title={words('none')}>{words('noneHow')}</Empty>}
      {offers.length > 0 && (
        <SimpleGrid
          cols={{ base: 1, xs: Math.min(2, offers.length), md: Math.min(3, offers.length) }}
          component="ul"
          p={0}
          m={0}
        >
          {offers.map((offer) => (
            <Tier
              key={offer.name}
              offer={offer}
              current={me?.account.plan === offer.name}
              nobody={nobody}
              shop={found.data?.upgrade_url ?? null}
            />
          ))}
        </SimpleGrid>
      )}
      {me && found.data && !offers.some((offer) => offer.name === me.account.plan) && <Other />}
      {me && found.data && offers.length > 0 && found.data.upgrade_url === null && (
        <Text size="sm" c="dimmed" mt="md">
          {words('ask')}
        </Text>
      )}
      <Title order={2} size="h3" mt="xl" mb="sm">
        {words('questions')}
      </Title>
      <Accordion variant="contained" multiple order={3} classNames={{ item: classes.question }}>
        {QUESTIONS.map((one) => (
          <Accordion.Item key={one} value={one}>
            <Accordion.Control>{words(`${one}Q`)}</Accordion.Control>
            <Accordion.Panel maw={720}>{words(`${one}A`)}</Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </Page>
  )
}

/** Whoever is on a plan without a price is told what it gives. */
function Other() {
  const words = usePricingWords()
  const format = useFormat()
  const kept = useQuery({ queryKey: ['memory', 'usage'], queryFn: () => ok(api.GET('/v1/memory/usage')) })
  if (!kept.data) return null
  const { plan, quota_bytes: quota } = kept.data
  return (
    <Alert mt="md">
      {words('other', { plan, size: quota === null ? words('otherFree') : format.bytes(quota) })}
    </Alert>
  )
}
