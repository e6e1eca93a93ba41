import { Anchor, Select, Stack } from '@mantine/core'
import { useMemo } from 'react'
import { useSettingsWords } from './settings.words'

/** A time zone, found by typing; the browser's own is offered. */
export function Zone({
  label,
  about,
  value,
  onChange,
}: {
  label: string
  about: string
  value: string
  onChange: (zone: string) => void
}) {
  const words = useSettingsWords()
  const zones = useMemo(
    () =>
      [...new Set(['UTC', value, ...Intl.supportedValuesOf('timeZone')])].map((zone) => ({
        value: zone,
        label: zone.replaceAll('_', ' '),
      })),
    [value],
  )
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <Stack gap={4}>
      <Select
        label={label}
        description={about}
        data={zones}
        value={value}
        onChange={(next) => next && next !== value && onChange(next)}
        searchable
        allowDeselect={false}
        limit={60}
        placeholder={words('zoneSearch')}
        nothingFoundMessage={words('zoneNone')}
      />
      {here && here !== value && (
        <Anchor component="button" type="button" size="sm" ta="start" onClick={() => onChange(here)}>
          {words('zoneHere', { zone: here.replaceAll('_', ' ') })}
        </Anchor>
      )}
    </Stack>
  )
}
