import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { api, ok, type Schema, send } from '@/api/client'
import { zipped } from './zip'

export type ImportRun = Schema<'ImportOut'>

export const isOver = (one: ImportRun) => one.state !== 'waiting' && one.state !== 'running'

export const importsQuery = queryOptions({
  queryKey: ['imports'],
  queryFn: () => ok(api.GET('/v1/imports', { params: { query: { limit: 20 } } })),
})

/** Those that were more than a look, the newest first; told anew while one is on its way. */
export function useRuns() {
  const client = useQueryClient()
  const found = useQuery({
    ...importsQuery,
    refetchInterval: ({ state }) => (state.data?.items.every(isOver) === false ? 1000 : false),
  })
  const running = found.data?.items.some((one) => !one.dry_run && !isOver(one)) ?? false
  const before = useRef(running)
  useEffect(() => {
    // What came in is new to every page.
    if (before.current && !running)
      void client.invalidateQueries({ predicate: (one) => one.queryKey[0] !== 'imports' })
    before.current = running
  }, [client, running])
  return found
}

export async function upload(
  files: File[],
  options: { dry_run: boolean; into?: string; dates?: string },
): Promise<ImportRun> {
  const file = files.length === 1 ? files[0]! : await zipped(files)
  const query = new URLSearchParams({ name: file.name, dry_run: String(options.dry_run) })
  if (options.into) query.set('into', options.into)
  if (options.dates) query.set('dates', options.dates)
  const answer = await send(`/v1/imports?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', accept: 'application/json' },
    body: file,
  })
  return answer.json()
}

/** A look into a file: uploaded and read, and nothing brought in. */
export function usePreview() {
  const begin = useMutation({
    mutationFn: (files: File[]) => upload(files, { dry_run: true }),
    meta: { quiet: true },
  })
  const id = begin.data?.id
  const read = useQuery({
    queryKey: ['imports', id],
    queryFn: () => ok(api.GET('/v1/imports/{import_id}', { params: { path: { import_id: id! } } })),
    enabled: id !== undefined,
    refetchInterval: ({ state }) => (state.data && isOver(state.data) ? false : 500),
  })
  return { begin, read: id ? read.data : undefined, error: begin.error ?? read.error }
}
