import {
  type Icon,
  IconAffiliate,
  IconArticle,
  IconCircleDot,
  IconDatabase,
  IconFile,
  IconFlag,
  IconFolder,
  IconMessage,
  IconMessage2,
  IconMessages,
  IconNote,
  IconPlug,
  IconStack2,
  IconUser,
  IconUserCircle,
  IconUsersGroup,
} from '@tabler/icons-react'
import type { Schema } from '@/api/client'
import { useThingWords } from './things.words'

export type ThingKind = Schema<'DiscardedOut'>['kind']
export type Where = Schema<'WhereOut'>

export const ICONS: Record<ThingKind, Icon> = {
  capsule: IconNote,
  chat_memory: IconMessages,
  room_memory: IconUsersGroup,
  direct_memory: IconMessage2,
  profile_memory: IconUserCircle,
  project_memory: IconFolder,
  landmark: IconFlag,
  node: IconCircleDot,
  entity_memory: IconPlug,
  item: IconDatabase,
  message: IconMessage,
  statement: IconUser,
  chat: IconMessages,
  file: IconFile,
  artifact: IconArticle,
  workspace: IconStack2,
  room: IconUsersGroup,
  project: IconFolder,
  graph: IconAffiliate,
}

/** Where something is read, in the page that it belongs to; what has none of its own is read among all memory. */
export function linkTo(kind: ThingKind, id: string, where: Where | null): string {
  const place = encodeURIComponent(where?.id ?? '')
  const inRoom = `/dashboard/rooms?${where?.kind === 'dm' ? 'dm' : 'room'}=${place}`
  switch (kind) {
    case 'capsule':
      return `/dashboard/recall?capsule=${id}`
    case 'chat_memory':
      return `/dashboard/playground?workspace=${place}&side=memories`
    case 'file':
    case 'artifact':
      return `/dashboard/playground?workspace=${place}&side=files`
    case 'chat':
      return `/dashboard/playground/${id}`
    case 'workspace':
      return `/dashboard/playground?workspace=${id}`
    case 'room_memory':
    case 'direct_memory':
    case 'landmark':
    case 'message':
      return inRoom
    case 'room':
      return `/dashboard/rooms?room=${id}`
    case 'node':
      return `/dashboard/graphs?graph=${place}&node=${id}`
    case 'graph':
      return `/dashboard/graphs?graph=${id}`
    case 'project':
      return `/dashboard/recall?project=${id}`
    case 'statement':
      return `/dashboard/scopes?scope=${place}`
    default:
      return `/dashboard/memory?memory=${id}`
  }
}

/** What a place is called: by its name, or by what it is. */
export function useWhere(): (where: Where | null) => string {
  const words = useThingWords()
  return (where) => {
    if (!where) return ''
    const { kind, name } = where
    if (kind === 'vault') return words('inVault')
    if (kind === 'profile') return words('inProfile')
    if (kind === 'dm') return words('inDm', { name: name || where.id })
    if (kind === 'store') return words('inStore', { name })
    if (kind === 'scope') return words('inScope', { name })
    if (kind === 'graph') return name || words('defaultGraph')
    if (kind === 'entity') {
      const { user_id, agent_id, app_id, run_id } = where.entity ?? {}
      return [words('inEntity'), user_id, agent_id, app_id, run_id].filter(Boolean).join(' · ')
    }
    return name || where.id
  }
}
