import { useCallback, useEffect, useState } from 'react'
import { api, ok } from '@/api/client'
import { useAddress } from '@/parts/address'
import type { Attached } from './Related'

const MOST = 10

/** Capsules that go with the next question; `?capsule=` brings the first one along. */
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
  const [query, change] = useAddress()
  const brought = query.get('capsule')
  useEffect(() => {
    if (!brought) return
    const add = ({ id, title }: Attached) =>
      setCapsules((now) => (now.some((one) => one.id === id) ? now : [...now, { id, title }]))
    const found = api.GET('/v1/memory/capsules/{capsule_id}', { params: { path: { capsule_id: brought } } })
    ok(found).then(add, () => undefined) // one that is gone is not brought along
    change({ capsule: null }, { replace: true })
  }, [brought, change])
  const remove = useCallback((id: string) => setCapsules((now) => now.filter((one) => one.id !== id)), [])
  const clear = useCallback(() => setCapsules([]), [])
  return { capsules, ids: capsules.map((one) => one.id), toggle, remove, clear }
}
