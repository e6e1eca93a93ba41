import { Stack, Switch } from '@mantine/core'
import type { Schema } from '@/api/client'
import { useChangeMe } from './changes'
import { Section } from './Section'
import { useSettingsWords } from './settings.words'

type User = Schema<'UserOut'>

export function Preferences({ user }: { user: User }) {
  const words = useSettingsWords()
  return (
    <Section title={words('preferences')}>
      <Stack>
        <Preference user={user} name="weekly_digest" label={words('digest')} about={words('digestHow')} />
        <Preference user={user} name="cold_tier" label={words('cold')} about={words('coldHow')} />
      </Stack>
    </Section>
  )
}

function Preference({
  user,
  name,
  label,
  about,
}: {
  user: User
  name: 'weekly_digest' | 'cold_tier'
  label: string
  about: string
}) {
  const change = useChangeMe()
  const wanted = change.isPending ? change.variables[name] : undefined // shown at once, before the server has answered
  return (
    <Switch
      label={label}
      description={about}
      checked={wanted ?? user[name]}
      onChange={(event) => change.mutate({ [name]: event.currentTarget.checked })}
    />
  )
}
