import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError, api, ok, type Schema } from '@/api/client'
import { speak } from './words'

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => ok(api.GET('/v1/me')),
  staleTime: Number.POSITIVE_INFINITY,
})

/** Who is signed in; undefined while that is being asked. */
export function useMe(): Schema<'Me'> | undefined {
  return useQuery(meQuery).data
}

/** Whether the server said that nobody is signed in: only on the price page does one stay there. */
export function useSignedOut(): boolean {
  const { error } = useQuery(meQuery)
  return error instanceof ApiError && error.status === 401
}

/** Whoever never chose a time zone gets that of the first browser that has another than theirs. */
export function useFirstZone(): void {
  const client = useQueryClient()
  const user = useMe()?.user
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const wanted = user && !user.timezone_chosen && timezone && timezone !== user.timezone
  useEffect(() => {
    if (!wanted) return
    ok(api.PATCH('/v1/me', { body: { timezone } }))
      .then(() => client.invalidateQueries({ queryKey: meQuery.queryKey }))
      .catch(() => {}) // the next visit tries again
  }, [client, timezone, wanted])
}

export async function signOut() {
  await api.POST('/auth/logout')
  location.assign('/login')
}

/** Choose the language, here and for whoever is signed in. */
export function useSpeak() {
  const client = useQueryClient()
  const nobody = useSignedOut()
  return async (language: string) => {
    speak(language)
    if (nobody) return
    // Who is here may still be being asked: the choice is not to be lost for that.
    const { user } = await client.ensureQueryData(meQuery)
    if (user) await api.PATCH('/v1/me', { body: { language } })
  }
}

/** Dates and sizes as the signed-in person reads them: their language, their time zone. */
export function useFormat() {
  const { i18n } = useTranslation()
  const zone = useMe()?.user?.timezone
  const language = i18n.language
  return useMemo(() => formats(language, zone), [language, zone])
}

function formats(language: string, timeZone: string | undefined) {
  const day = new Intl.DateTimeFormat(language, { timeZone, dateStyle: 'medium' })
  const minute = new Intl.DateTimeFormat(language, { timeZone, dateStyle: 'medium', timeStyle: 'short' })
  const clock = new Intl.DateTimeFormat(language, { timeZone, timeStyle: 'short' })
  const month = new Intl.DateTimeFormat(language, { timeZone, year: 'numeric', month: 'long' })
  const key = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit' })
  const number = new Intl.NumberFormat(language)
  const percent = new Intl.NumberFormat(language, { style: 'percent' })
  return {
    day: (at: string) => day.format(new Date(at)),
    minute: (at: string) => minute.format(new Date(at)),
    clock: (at: string) => clock.format(new Date(at)),
    month: (at: string) => month.format(new Date(at)),
    /** 2026-11: what is grouped by month in this person's time zone. */
    monthKey: (at: string) => key.format(new Date(at)).slice(0, 7),
    number: (value: number) => number.format(value),
    percent: (value: number) => percent.format(value),
    bytes: (value: number) => bytes(value, language),
  }
}

function bytes(value: number, language: string): string {
  const power = value < 1024 ? 0 : value < 1024 ** 2 ? 1 : value < 1024 ** 3 ? 2 : 3
  const shown = value / 1024 ** power
  const digits = new Intl.NumberFormat(language, { maximumFractionDigits: power > 0 && shown < 10 ? 1 : 0 })
  return `${digits.format(shown)} ${['B', 'KB', 'MB', 'GB'][power]}`
}
