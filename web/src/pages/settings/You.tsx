import { Button, Select, SimpleGrid, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { LANGUAGES, speak } from '@/app/words'
import { useChangeMe } from './changes'
import { Section } from './Section'
import { useSettingsWords } from './settings.words'
import { Zone } from './Zone'

export function You({ user }: { user: Schema<'UserOut'> }) {
  const words = useSettingsWords()
  const frame = useFrameWords()
  const change = useChangeMe()
  const [name, setName] = useState(user.name)
  const known = Object.entries(LANGUAGES).map(([value, label]) => ({ value, label: label as string }))
  const language = user.language.toLowerCase().startsWith('zh') ? 'zh' : user.language.split('-')[0]!
  const languages = known.some((one) => one.value === language)
    ? known
    : [...known, { value: language, label: user.language }]
  return (
    <Section title={words('you')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate({ name: name.trim() })
        }}
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }} verticalSpacing="md">
          <TextInput
            label={words('name')}
            description={words('nameHow')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={255}
            autoComplete="name"
            rightSectionWidth={76}
            rightSection={
              name.trim() !== user.name && (
                <Button type="submit" size="compact-sm" loading={change.isPending}>
                  {frame('save')}
                </Button>
              )
            }
          />
          <TextInput
            label={words('email')}
            description={words('emailFixed')}
            value={user.email}
            readOnly
            variant="filled"
          />
          <Select
            label={words('language')}
            description={words('languageHow')}
            data={languages}
            value={language}
            allowDeselect={false}
            onChange={(next) => {
              if (!next || next === language) return
              speak(next)
              change.mutate({ language: next })
            }}
          />
          <Zone
            label={words('zone')}
            about={words('zoneHow')}
            value={user.timezone}
            onChange={(timezone) => change.mutate({ timezone })}
          />
        </SimpleGrid>
      </form>
    </Section>
  )
}
