import { Button, SimpleGrid, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useChangeAccount } from '../changes'
import { Cards, Section } from '../Section'
import { useSettingsWords } from '../settings.words'
import { Zone } from '../Zone'
import { InviteLinks } from './InviteLinks'
import { People } from './People'

/** For owners: what the account is called, and who is in it. */
export function Account({ me }: { me: Schema<'Me'> }) {
  const words = useSettingsWords()
  const frame = useFrameWords()
  const change = useChangeAccount()
  const [name, setName] = useState(me.account.name)
  const wanted = name.trim()
  return (
    <Cards>
      <People mine={me.user?.id} />
      <InviteLinks />
      <Section title={words('account')} about={words('accountAbout')}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            change.mutate({ name: wanted })
          }}
        >
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput
              label={words('accountName')}
              description={me.account.id}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              maxLength={255}
              rightSectionWidth={76}
              rightSection={
                wanted !== '' &&
                wanted !== me.account.name && (
                  <Button type="submit" size="compact-sm" loading={change.isPending}>
                    {frame('save')}
                  </Button>
                )
              }
            />
            <Zone
              label={words('accountZone')}
              about={words('accountZoneHow')}
              value={me.account.timezone}
              onChange={(timezone) => change.mutate({ timezone })}
            />
          </SimpleGrid>
        </form>
      </Section>
    </Cards>
  )
}
