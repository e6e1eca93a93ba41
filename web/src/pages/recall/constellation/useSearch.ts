import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, ok } from '@/api/client'
import { CAPSULES } from '@/parts/capsules/queries'
import { type Star, says } from './reading'

const MOST = 100 // by meaning

/** The stars that a question is about: at once those that say its words, and a moment later those that mean it. */
export function useSearch(question: string, stars: readonly Star[]): readonly Star[] | null {
  const asked = question.trim().toLowerCase()
  const [settled] = useDebouncedValue(asked, 250)
  const meant = useQuery({
    queryKey: [...CAPSULES, 'stars', settled],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/v1/memory/capsules', {
          params: { query: { q: settled, mode: 'hybrid', limit: MOST } },
          signal,
        }),
      ),
    enabled: settled !== '',
    staleTime: 60_000,
  })
  const order = settled === asked ? meant.data?.items : undefined
  return useMemo(() => {
    if (!asked) return null
    const known = new Map(stars.map((star) => [star.id, star]))
    const best = (order ?? []).flatMap((one) => known.get(one.id) ?? [])
    const words = asked.split(/\s+/)
    return [...new Set([...best, ...stars.filter((star) => says(star, words))])]
  }, [asked, stars, order])
}
