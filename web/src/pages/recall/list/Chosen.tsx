import { Button, CloseButton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFormat } from '@/app/session'
import { useKinds } from '@/parts/capsules/kinds'
import { type Filters, NO_FILTERS, usePlace, writeTags } from '../place'
import { projectsQuery } from '../projects'
import { useRecallWords } from '../recall.words'
import classes from './Chosen.module.css'

/** The filters that are on, each with the way out of it. */
export function Chosen() {
  const words = useRecallWords()
  const format = useFormat()
  const kinds = useKinds()
  const { filters, tags, set } = usePlace()
  const projects = useQuery({ ...projectsQuery, enabled: filters.project !== '' }).data?.items ?? []
  // Noon: the same date in (nearly) every time zone.
  const day = (date: string) => format.day(`${date}T12:00:00Z`)
  const { from, to } = filters
  const period =
    from && to
      ? words('between', { from: day(from), to: day(to) })
      : from
        ? words('since', { from: day(from) })
        : to && words('until', { to: day(to) })
  const on: { label: string; without: Partial<Filters> }[] = [
    ...tags.map((tag) => ({
      label: `#${tag}`,
      without: { tag: writeTags(tags.filter((one) => one !== tag)) },
    })),
    { label: filters.kind && kinds.label(filters.kind), without: { kind: '' } },
    {
      label:
        filters.project &&
        (filters.project === 'none'
          ? words('inNone')
          : (projects.find((one) => one.id === filters.project)?.name ?? words('project'))),
      without: { project: '' },
    },
    { label: period, without: { from: '', to: '' } },
  ].filter((one) => one.label)
  if (on.length === 0) return null
  return (
    <ul className={classes.row} aria-label={words('filters')}>
      {on.map(({ label, without }) => (
        <li key={label} className={classes.chip}>
          {label}
          <CloseButton
            size="xs"
            radius="xl"
            aria-label={words('drop', { what: label })}
            onClick={() => set(without as Record<string, string>)}
          />
        </li>
      ))}
      {on.length > 1 && (
        <li>
          <Button variant="subtle" size="compact-xs" onClick={() => set({ ...NO_FILTERS })}>
            {words('clearAll')}
          </Button>
        </li>
      )}
    </ul>
  )
}
