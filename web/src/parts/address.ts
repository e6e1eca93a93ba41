import { useCallback } from 'react'
import { type NavigateOptions, useLocation, useSearchParams } from 'react-router'

export type Changes = Record<string, string | null | undefined>

/**
 * What the page's address says after the `?`, and how to change some of it: null or '' takes a name out.
 *
 * A change is made to the address as it is then, not as it was drawn: another may have come before. Who has gone to
 * another page meanwhile stays there.
 */
export function useAddress() {
  const [params, setParams] = useSearchParams()
  const { pathname } = useLocation()
  const change = useCallback(
    (changes: Changes, options?: NavigateOptions) => {
      if (location.pathname === pathname) setParams(changed(location.search, changes), options)
    },
    [pathname, setParams],
  )
  return [params, change] as const
}

export function changed(search: string | URLSearchParams, changes: Changes): URLSearchParams {
  const next = new URLSearchParams(search)
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value)
    else next.delete(name)
  }
  return next
}
