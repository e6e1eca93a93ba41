import { useCallback, useState } from 'react'
import type { Attached } from './Related'

const MOST = 10

/** Capsules that go with the next question. */
export function useAttached() {
  const [capsules, setCapsules] = useState<Attached[]>([])
  const toggle = useCallback(
    (capsule: Attached) =>
      setCapsules((now) => {
        if (now.some((one) => one.id === capsule.id)) return now.filter((one) => one.id !== capsule.id)
        return now.length < MOST ? [...now, capsule] : now
      }),
    [],
  )
  const remove = useCallback((id: string) => setCapsules((now) => now.filter((one) => one.id !== id)), [])
  const clear = useCallback(() => setCapsules([]), [])
  return { capsules, ids: capsules.map((one) => one.id), toggle, remove, clear }
}
