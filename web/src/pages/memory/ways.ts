import { api, ok } from '@/api/client'
import type { Shelved } from './place'

/** Other words for it, by the way that its kind has. */
export function rewrite(memory: Shelved, text: string): Promise<unknown> {
  const at = memory.place?.id ?? ''
  const memory_id = memory.id
  switch (memory.kind) {
    case 'capsule': {
      const params = { path: { capsule_id: memory.id } }
      return ok(api.PATCH('/v1/memory/capsules/{capsule_id}', { params, body: { content_md: text } }))
    }
    case 'chat_memory': {
      const params = { path: { workspace_id: at, memory_id } }
      return ok(
        api.PATCH('/v1/workspaces/{workspace_id}/memories/{memory_id}', { params, body: { content: text } }),
      )
    }
    case 'room_memory': {
      const params = { path: { room_id: at, memory_id } }
      return ok(api.PATCH('/v1/rooms/{room_id}/memories/{memory_id}', { params, body: { text } }))
    }
    case 'direct_memory': {
      const params = { path: { slug: at, memory_id } }
      return ok(api.PATCH('/v1/dms/{slug}/memories/{memory_id}', { params, body: { text } }))
    }
    case 'profile_memory': {
      const params = { path: { user_id: at, memory_id } }
      return ok(api.PATCH('/v1/profiles/{user_id}/memories/{memory_id}', { params, body: { text } }))
    }
    case 'project_memory': {
      const params = { path: { project_id: at, memory_id } }
      return ok(api.PATCH('/v1/projects/{project_id}/memories/{memory_id}', { params, body: { text } }))
    }
    case 'landmark': {
      if (memory.place?.kind === 'dm') {
        const params = { path: { slug: at, landmark_id: memory.id } }
        return ok(api.PATCH('/v1/dms/{slug}/landmarks/{landmark_id}', { params, body: { text } }))
      }
      const params = { path: { room_id: at, landmark_id: memory.id } }
      return ok(api.PATCH('/v1/rooms/{room_id}/landmarks/{landmark_id}', { params, body: { text } }))
    }
    case 'node': {
      const params = { path: { graph_id: at, node_id: memory.id } }
      return ok(api.PATCH('/v1/graphs/{graph_id}/nodes/{node_id}', { params, body: { content: text } }))
    }
    case 'entity_memory': {
      return ok(api.PUT('/v1/memories/{memory_id}/', { params: { path: { memory_id } }, body: { text } }))
    }
    case 'item': {
      const body = { namespace: memory.namespace ?? [], key: memory.key ?? '', value: JSON.parse(text) }
      return ok(api.PUT('/v1/stores/{store}/items', { params: { path: { store: at } }, body }))
    }
  }
}

/** Into the trash, by the way that its kind has. */
export function remove(memory: Shelved): Promise<unknown> {
  const at = memory.place?.id ?? ''
  const memory_id = memory.id
  switch (memory.kind) {
    case 'capsule': {
      const params = { path: { capsule_id: memory.id } }
      return ok(api.DELETE('/v1/memory/capsules/{capsule_id}', { params }))
    }
    case 'chat_memory': {
      const params = { path: { workspace_id: at, memory_id } }
      return ok(api.DELETE('/v1/workspaces/{workspace_id}/memories/{memory_id}', { params }))
    }
    case 'room_memory': {
      return ok(
        api.DELETE('/v1/rooms/{room_id}/memories/{memory_id}', {
          params: { path: { room_id: at, memory_id } },
        }),
      )
    }
    case 'direct_memory': {
      return ok(
        api.DELETE('/v1/dms/{slug}/memories/{memory_id}', { params: { path: { slug: at, memory_id } } }),
      )
    }
    case 'profile_memory': {
      const params = { path: { user_id: at, memory_id } }
      return ok(api.DELETE('/v1/profiles/{user_id}/memories/{memory_id}', { params }))
    }
    case 'project_memory': {
      const params = { path: { project_id: at, memory_id } }
      return ok(api.DELETE('/v1/projects/{project_id}/memories/{memory_id}', { params }))
    }
    case 'landmark': {
      if (memory.place?.kind === 'dm') {
        const params = { path: { slug: at, landmark_id: memory.id } }
        return ok(api.DELETE('/v1/dms/{slug}/landmarks/{landmark_id}', { params }))
      }
      const params = { path: { room_id: at, landmark_id: memory.id } }
      return ok(api.DELETE('/v1/rooms/{room_id}/landmarks/{landmark_id}', { params }))
    }
    case 'node': {
      const params = { path: { graph_id: at, node_id: memory.id } }
      return ok(api.DELETE('/v1/graphs/{graph_id}/nodes/{node_id}', { params }))
    }
    case 'entity_memory':
      return ok(api.DELETE('/v1/memories/{memory_id}/', { params: { path: { memory_id } } }))
    case 'item': {
      const query = { key: memory.key ?? '', namespace: memory.namespace ?? [] }
      return ok(api.DELETE('/v1/stores/{store}/items', { params: { path: { store: at }, query } }))
    }
  }
}
