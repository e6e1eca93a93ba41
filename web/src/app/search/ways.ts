import type { Schema } from '@/api/client'

type Thing = Schema<'ThingOut'>

/** The address at which a thing that was found stands open. `show` is what a page brings into sight. */
export function wayTo({ kind, id, where }: Thing): string {
  const show = where.message_id
  if (kind === 'capsule') return at('recall', { capsule: id })
  if (kind === 'node') return at('graphs', { graph: where.graph_id, node: id })
  if (kind === 'scope') return at('scopes', { scope: where.scope_id, show })
  if (kind === 'chat') return at(`playground/${id}`, { show })
  if (kind === 'room') return at('rooms', { room: where.room_id, dm: where.agent, show })
  if (where.place === 'workspace') {
    const inside = kind === 'document' ? { side: 'files', show: id } : { side: 'memories', memory: id }
    return at('playground', { workspace: where.workspace_id, ...inside })
  }
  const panel = 'memories'
  if (where.place === 'room') return at('rooms', { room: where.room_id, panel, show: id })
  if (where.place === 'dm') return at('rooms', { dm: where.agent, panel, show: id })
  return at('memory', { memory: id })
}

function at(page: string, params: Record<string, string | null | undefined>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, value)
  return `/dashboard/${page}${query.size ? `?${query}` : ''}`
}
