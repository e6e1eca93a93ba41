import { useCallback } from 'react'
import { type NavigateOptions, useSearchParams } from 'react-router'

type Changes = Record<string, string | null | undefined>

/** What the page's address says after the `?`, and how to change some of it: null or '' takes a name out. */
export function useAddress() {
  const [params, setParams] = useSearchParams()
  const change = useCallback(
    (changes: Changes, options?: NavigateOptions) =>
      setParams((before) => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(changes)) {
          if (value) next.set(name, value)
          else next.delete(name)
        }
        return next
      }, options),
    [setParams],
  )
  return [params, change] as const
}
