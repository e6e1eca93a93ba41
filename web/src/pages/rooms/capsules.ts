import { api } from '@/api/client'
import type { Said } from './place'

export type Capsule = { id: string; title: string }

/** An attachment is any object; a prompt shows its name. */
export const attach = (capsules: Capsule[]) =>
  capsules.map(({ id, title }) => ({ type: 'capsule', id, name: title }))

export function capsulesOf(said: Said): Capsule[] {
  return said.attachments
    .filter((one) => one.type === 'capsule' && typeof one.id === 'string')
    .map((one) => ({ id: String(one.id), title: String(one.name ?? one.id) }))
}

/** What an agent is asked: the message, with the text of the capsules attached to it. */
export async function askedIn(said: Said): Promise<string> {
  const texts = await Promise.all(
    capsulesOf(said).map(async ({ id, title }) => {
      const { data } = await api.GET('/v1/memory/capsules/{capsule_id}', {
        params: { path: { capsule_id: id } },
      })
      return data ? `[capsule: ${title}]\n${data.content_md}` : `[capsule: ${title}]`
    }),
  )
  return [said.text, ...texts].join('\n\n')
}
