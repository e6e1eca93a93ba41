import { Badge, Button, Group, List, Stack, Text, Title } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { usePricingWords } from './pricing.words'
import classes from './Tier.module.css'

const CAPSULE = 8.5 * 1024 // of a usual one, with what belongs to it

/** One plan: what it costs and what one has for it. */
export function Tier({
  offer,
  current,
  nobody,
  shop,
}: {
  offer: Schema<'OfferOut'>
  current: boolean
  nobody: boolean
  shop: string | null
}) {
  const words = usePricingWords()
  const format = useFormat()
  const name = offer.name.charAt(0).toUpperCase() + offer.name.slice(1)
  const { amount, per } = split(offer.price)
  return (
    <Stack component="li" className={classes.tier} data-current={current || undefined} gap="md">
      <Group justify="space-between" h={28}>
        <Title order={2} size="h4">
          {name}
        </Title>
        {current && <Badge variant="light">{words('current')}</Badge>}
      </Group>
      <div>
        <Text span className={classes.price}>
          {amount}
        </Text>
        {per && (
          <Text span c="dimmed">
            {per}
          </Text>
        )}
      </div>
      <List
        icon={<IconCheck size={16} className={classes.check} aria-hidden />}
        spacing={6}
        size="sm"
        flex={1}
      >
        <List.Item>
          {offer.capacity_bytes === null
            ? words('capacityFree')
            : words('capacity', { size: format.bytes(offer.capacity_bytes) })}
        </List.Item>
        <List.Item>
          {offer.capacity_bytes === null
            ? words('capsulesFree')
            : words('capsules', { count: format.number(roughly(offer.capacity_bytes / CAPSULE)) })}
        </List.Item>
        <List.Item>
          {offer.monthly_queries === null
            ? words('queriesFree')
            : words('queries', { count: format.number(offer.monthly_queries) })}
        </List.Item>
        {offer.monthly_credits !== null && (
          <List.Item>{words('credits', { count: format.number(offer.monthly_credits) })}</List.Item>
        )}
        {offer.monthly_tokens !== null && (
          <List.Item>{words('tokens', { count: format.number(offer.monthly_tokens) })}</List.Item>
        )}
      </List>
      {nobody && (
        <Button component="a" href="/login?next=%2Fpricing" variant="light" fullWidth>
          {words('start')}
        </Button>
      )}
      {!nobody && shop && !current && (
        <Button component="a" href={shop} fullWidth>
          {words('choose', { plan: name })}
        </Button>
      )}
    </Stack>
  )
}

/** “$10/mo” as a large amount and a small word; what is written otherwise stays whole. */
function split(price: string): { amount: string; per: string } {
  const at = price.indexOf('/')
  return at < 0 ? { amount: price, per: '' } : { amount: price.slice(0, at), per: price.slice(at) }
}

/** Two digits that count: 602 is 600. */
function roughly(number: number): number {
  if (number < 10) return Math.floor(number)
  const step = 10 ** (Math.floor(Math.log10(number)) - 1)
  return Math.floor(number / step) * step
}
