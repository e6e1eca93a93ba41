import { Stack, Switch } from '@mantine/core'
import type { Schema } from '@/api/client'
import { useChangeMe } from './changes'
import { Section } from './Section'
import { useSettingsWords } from './settings.words'

export function Preferences({ user }: { user: Schema<'UserOut'> }) {
  const words = useSettingsWords()
  const change = useChangeMe()
  const wanted = change.isPending ? change.variables : undefined // shown at once, before the server has answered
  return (
    <Section title={words('preferences')}>
      <Stack>
        <Switch
          label={words('digest')}
          description={words('digestHow')}
          checked={wanted?.weekly_digest ?? user.weekly_digest}
          onChange={(event) => change.mutate({ weekly_digest: event.currentTarget.checked })}
        />
        <Switch
          label={words('cold')}
          description={words('coldHow')}
          checked={wanted?.cold_tier ?? user.cold_tier}
          onChange={(event) => change.mutate({ cold_tier: event.currentTarget.checked })}
        />
      </Stack>
    </Section>
  )
}
