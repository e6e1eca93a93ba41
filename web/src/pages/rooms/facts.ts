import { queryOptions } from '@tanstack/react-query'
import { type Schema, send } from '@/api/client'

export type Fact = Schema<'FactOut'>
export type FactScope = { kind: 'room' | 'user' | 'global'; id: string }

type Source = { source?: string }
type Raw = { rawJSON?: (source: string) => unknown }

/** JSON in which a number that JavaScript would round keeps its digits, for who writes it out again. */
function read(text: string): { items: Fact[] } {
  const raw = (JSON as unknown as Raw).rawJSON
  const exact = (_key: string, value: unknown, context?: Source) =>
    typeof value === 'number' && raw && context?.source && String(value) !== context.source
      ? raw(context.source)
      : value
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown)
}

const address = (scope: FactScope, key: string) =>
  `/v1/facts/${scope.kind}/${encodeURIComponent(scope.id)}/${encodeURIComponent(key)}`

export const factsQuery = (scope: FactScope, asOf: string | undefined) =>
  queryOptions({
    queryKey: ['rooms', 'facts', scope, asOf],
    queryFn: async () => {
      const query = new URLSearchParams({ scope_kind: scope.kind, scope_id: scope.id })
      if (asOf) query.set('as_of', asOf)
      return read(await (await send(`/v1/facts?${query}`)).text()).items
    },
  })

export const historyQuery = (scope: FactScope, key: string) =>
  queryOptions({
    queryKey: ['rooms', 'facts', scope, 'history', key],
    queryFn: async () => read(await (await send(`${address(scope, key)}/history`)).text()).items,
  })

/** `value` is JSON as it was written: parsed here, a number would lose digits. */
export async function putFact(scope: FactScope, key: string, value: string, secret: boolean): Promise<void> {
  await send(address(scope, key), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: `{"value":${value},"visibility":"${secret ? 'private' : 'shared'}"}`,
  })
}

export async function deleteFact(scope: FactScope, key: string): Promise<void> {
  await send(address(scope, key), { method: 'DELETE' })
}

/** JSON as it is; anything else is taken for a text. */
export function asJson(typed: string): string {
  try {
    JSON.parse(typed)
    return typed.trim()
  } catch {
    return JSON.stringify(typed)
  }
}
