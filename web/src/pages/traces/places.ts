import type { Schema } from '@/api/client'
import type { TracesWords } from './traces.words'

type Where = Pick<Schema<'TraceLineOut'>, 'space' | 'place'>

const KINDS = [
  ['ws_', 'workspace'],
  ['room_', 'room'],
  ['graph_', 'graph'],
  ['scope:', 'scope'],
  ['store:', 'store'],
  ['dm:', 'dm'],
] as const

/** What a place is called: its name, or what kind of place it is where it has none. */
export function placeName({ space, place }: Where, words: TracesWords): string {
  if (space === null) return words('nowhere')
  if (space === 'capsules' || space === 'mem0') return words(space)
  const kind = KINDS.find(([prefix]) => space.startsWith(prefix))?.[1]
  return place || (kind ? words(kind) : space)
}

/** Where in the dashboard a place is; null where it has no page. */
export function placeLink(space: string | null): string | null {
  if (space === null) return null
  if (space === 'capsules') return '/dashboard/recall'
  const [kind, name] = [space.slice(0, space.indexOf(':')), space.slice(space.indexOf(':') + 1)]
  if (kind === 'scope') return `/dashboard/scopes?${new URLSearchParams({ scope: name })}`
  if (kind === 'dm') return `/dashboard/rooms?${new URLSearchParams({ dm: name })}`
  if (space.startsWith('room_')) return `/dashboard/rooms?room=${space}`
  if (space.startsWith('graph_')) return `/dashboard/graphs?graph=${space}`
  if (space.startsWith('ws_')) return `/dashboard/playground?workspace=${space}`
  return null
}

const PANELS: Record<string, string> = {
  landmark: 'landmarks',
  fact: 'facts',
  summary: 'summaries',
  semantic: 'memories',
}

/** Where in the dashboard something that was found is. */
export function candidateLink(space: string | null, one: Schema<'TraceCandidateOut'>): string | null {
  const place = placeLink(space)
  if (one.what === 'capsule') return `/dashboard/recall?capsule=${one.id}`
  if (one.what === null || place === null) return null
  if (place.startsWith('/dashboard/scopes')) return `${place}&message=${one.id}`
  if (place.startsWith('/dashboard/graphs')) return `${place}&node=${one.id}`
  if (place.startsWith('/dashboard/rooms')) {
    const panel = PANELS[one.what]
    return `${place}&show=${one.id}${panel ? `&panel=${panel}` : ''}`
  }
  if (one.what === 'message' && one.thread_id) return `/dashboard/playground/${one.thread_id}`
  if (place.startsWith('/dashboard/playground')) {
    return `${place}&side=${one.what === 'chat' ? 'memories' : 'files'}`
  }
  return null
}
