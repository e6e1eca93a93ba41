import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import type { MonthOf } from './months'

export function byYear(months: readonly MonthOf[]): [string, MonthOf[]][] {
  const years = new Map<string, MonthOf[]>()
  for (const month of months) {
    const year = month.key.slice(0, 4)
    years.set(year, [...(years.get(year) ?? []), month])
  }
  return [...years]
}

/** "Nov" of 2026-11, in the language of the page. */
export function useShortMonth(): (key: string) => string {
  const { language } = useTranslation().i18n
  return useMemo(() => {
    const format = new Intl.DateTimeFormat(language, { month: 'short', timeZone: 'UTC' })
    return (key) => format.format(new Date(`${key}-15T12:00:00Z`))
  }, [language])
}
