import { useCallback, useMemo } from 'react'
import { type Changes, changed, useAddress } from '@/parts/address'

const VIEWS = ['list', 'timeline', 'constellation', 'trash', 'cold'] as const
const MODES = ['hybrid', 'literal', 'semantic'] as const
const DAY = /^\d{4}-\d\d-\d\d$/
const PROJECT = /^(proj_[a-z0-9]{24}|none)$/
const CAPSULE = /^cap_[a-z0-9]{24}$/

export type View = (typeof VIEWS)[number]
export type Mode = (typeof MODES)[number]
export type Filters = { tag: string; kind: string; project: string; from: string; to: string }
const BETWEEN = '\n' // tags in the address: none has it

export const NO_FILTERS: Filters = { tag: '', kind: '', project: '', from: '', to: '' }

/** Where one is in Recall, all of it in the address; what makes no sense there counts as not said. */
export function usePlace() {
  const [params, change] = useAddress()
  const set = useCallback(
    (changes: Changes, how: { replace?: boolean } = {}) =>
      change(changes, { replace: how.replace, preventScrollReset: true }),
    [change],
  )
  return useMemo(() => {
    const read = (name: string, form?: RegExp) => {
      const value = params.get(name) ?? ''
      return form && !form.test(value) ? '' : value
    }
    const filters: Filters = {
      tag: read('tag').slice(0, 2000),
      kind: read('kind').slice(0, 50),
      project: read('project', PROJECT),
      from: read('from', DAY),
      to: read('to', DAY),
    }
    return {
      view: VIEWS.find((view) => view === params.get('view')) ?? 'list',
      mode: MODES.find((mode) => mode === params.get('mode')) ?? 'hybrid',
      q: read('q').slice(0, 2000),
      capsule: read('capsule', CAPSULE),
      bucket: (['day', 'week', 'month'] as const).find((one) => one === params.get('bucket')) ?? 'week',
      filters,
      tags: readTags(filters.tag),
      set,
      /** The address with other parameters, for links. */
      with: (changes: Changes) => `?${changed(params, changes)}`,
    }
  }, [params, set])
}

/** Several tags are all wanted at once. */
export function readTags(told: string): string[] {
  return told.split(BETWEEN).filter(Boolean).slice(0, 20)
}

export function writeTags(tags: readonly string[]): string {
  return [...new Set(tags)].join(BETWEEN)
}

export type Place = ReturnType<typeof usePlace>
