import { useLocalStorage } from '@mantine/hooks'
import { useCallback } from 'react'
import { useMe } from '@/app/session'

const KEPT = 8

/** The scopes last used in this browser: the API has no list of them, since a caller may pick any name. */
export function useScopes(): [string[], (scope: string) => void] {
  const who = useMe()?.user?.id ?? 'nobody'
  const [scopes, setScopes] = useLocalStorage<string[]>({
    key: `keepstone.scopes.${who}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  })
  const remember = useCallback(
    (scope: string) =>
      setScopes((before) => [scope, ...before.filter((one) => one !== scope)].slice(0, KEPT)),
    [setScopes],
  )
  return [scopes, remember]
}
