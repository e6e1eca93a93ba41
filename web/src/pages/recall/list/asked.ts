import { useMemo } from 'react'
import type { paths } from '@/api/schema'
import { useMe } from '@/app/session'
import { addDays, startOfDay } from '../days'
import { usePlace } from '../place'

type Query = NonNullable<paths['/v1/memory/capsules/counts']['get']['parameters']['query']>
export type Asked = Omit<Query, 'by'>

/** The filters as the API takes them; the same object as long as they are the same. */
export function useAsked(): { asked: Asked; zone: string; filtered: boolean } {
  const zone = useMe()?.user?.timezone ?? 'UTC'
  const { filters, tags } = usePlace()
  const { kind, project, from, to } = filters
  const told = tags.join('\n')
  return useMemo(
    () => ({
      asked: {
        tag: told ? told.split('\n') : undefined,
        kind: kind || undefined,
        project_id: project || undefined,
        from: from ? startOfDay(from, zone) : undefined,
        to: to ? startOfDay(addDays(to, 1), zone) : undefined,
      },
      zone,
      filtered: Boolean(told || kind || project || from || to),
    }),
    [told, kind, project, from, to, zone],
  )
}
