import { useEffect, useRef, useSyncExternalStore } from 'react'
import { useLocation, useNavigate } from 'react-router'

/**
 * Single keys, without a modifier: the one place that hears them.
 *
 * What was registered last is asked first, so a page may give a key another meaning than the frame. Nothing is heard
 * while somebody writes, and over a page that is behind a dialog only what belongs to a dialog. All of it can be
 * switched off, for whoever speaks to the browser or hits keys by mistake.
 */
export type Deeds = Record<string, () => void>
type Registered = { deeds: Deeds; inDialog: boolean }

const registered: Registered[] = []

/** `inDialog`: what they are for stands in a dialog, and is meant while that is open. */
export function useKeys(deeds: Deeds, { inDialog = false }: { inDialog?: boolean } = {}) {
  const mine = useRef<Registered>({ deeds, inDialog })
  useEffect(() => {
    mine.current.deeds = deeds
    mine.current.inDialog = inDialog
  })
  useEffect(() => {
    const one = mine.current
    registered.push(one)
    return () => void registered.splice(registered.indexOf(one), 1)
  }, [])
}

/** What `n` makes on this page; whoever comes here to make one (`state: MAKE`) has it made at once. */
export function useNew(make: () => void, ready = true) {
  const { state, pathname, search } = useLocation()
  const go = useNavigate()
  const asked = ready && isMake(state)
  const latest = useRef(make)
  latest.current = make
  useKeys(ready ? { n: make } : {})
  useEffect(() => {
    if (!asked) return
    go(pathname + search, { replace: true, state: null })
    latest.current()
  }, [asked, go, pathname, search])
}

export const MAKE = { make: true } as const
const isMake = (state: unknown) => typeof state === 'object' && state !== null && 'make' in state

const KEPT = 'keepstone.keys'
const listeners = new Set<() => void>()

export function switchKeys(on: boolean) {
  if (on) localStorage.removeItem(KEPT)
  else localStorage.setItem(KEPT, 'off')
  for (const tell of listeners) tell()
}

const areOn = () => localStorage.getItem(KEPT) !== 'off'

export function useKeysOn(): boolean {
  return useSyncExternalStore((tell) => {
    listeners.add(tell)
    return () => void listeners.delete(tell)
  }, areOn)
}

export function heard(event: KeyboardEvent) {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return
  if (!areOn() || writesIn(event.target)) return
  const covered = document.querySelector('[role=dialog][aria-modal=true]') !== null
  const one = registered.findLast((each) => event.key in each.deeds && (each.inDialog || !covered))
  if (!one) return
  event.preventDefault()
  one.deeds[event.key]?.()
}

const NO_TEXT = ['checkbox', 'radio', 'button', 'range']

/** Whether a letter would be written there, or chooses something in a menu. */
function writesIn(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !NO_TEXT.includes(target.type)
  return (
    target.isContentEditable ||
    target.matches('textarea, select') ||
    target.closest('[role=menu], [role=listbox], [role=tree]') !== null
  )
}

/** The rows of a page: links or buttons that carry `data-row`. */
export function moveInRows(step: 1 | -1) {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')].filter((row) =>
    row.checkVisibility(),
  )
  const active = document.activeElement
  const at = rows.findIndex(
    (row) => row === active || row.parentElement?.closest('article, li')?.contains(active),
  )
  const chosen = rows.findIndex((row) => row.hasAttribute('aria-current'))
  const from = at >= 0 ? at : chosen
  const next = from < 0 ? rows[step > 0 ? 0 : rows.length - 1] : rows[from + step]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

/** Into the field in which this page is searched. Whether it has one. */
export function enterSearchField(): boolean {
  const fields = document.querySelectorAll<HTMLInputElement>(
    'main input[type=search], main [role=search] input, main [data-search]',
  )
  const field = [...fields].find((one) => one.checkVisibility() && !one.disabled)
  field?.focus()
  field?.select()
  return field !== undefined
}
