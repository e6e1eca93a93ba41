import { ApiError, api, ok } from '@/api/client'
import type { Language } from '@/app/words'
import { putFact } from './facts'
import { pin, say } from './place'

const SLUG = 'harbour-guide'

const TEXTS: Record<
  Language,
  { agent: string; told: string; room: string; lines: [agent: boolean, text: string][]; landmark: string }
> = {
  en: {
    agent: 'Harbour guide',
    told: 'You help a few friends plan a trip. Be brief, and say where you know something from.',
    room: 'Island trip',
    lines: [
      [false, 'We decided to take the ferry on the 14th of June.'],
      [true, 'Good. The first one leaves at half past seven.'],
      [false, 'I will book the restaurant by Friday. Cleo can’t eat nuts.'],
      [true, 'Noted: no nuts for Cleo, and the booking is yours.'],
      [false, 'What do we still have to do before we leave?'],
    ],
    landmark: 'We take the ferry on the 14th of June.',
  },
  zh: {
    agent: '港口向导',
    told: '你帮几位朋友安排一次出行。请简短，并说明消息的来源。',
    room: '海岛之行',
    lines: [
      [false, '我们决定坐六月十四日的渡轮。'],
      [true, '好的，第一班七点半开。'],
      [false, '我会在周五之前订好餐厅。克莱奥不能吃坚果。'],
      [true, '记下了：克莱奥不吃坚果，餐厅由你来订。'],
      [false, '出发之前我们还要做些什么？'],
    ],
    landmark: '我们坐六月十四日的渡轮。',
  },
}

/** An agent, a room and a few lines, said through the API: real, and deleted like any others. */
export async function makeExample(language: Language): Promise<string> {
  const { agent, told, room, lines, landmark } = TEXTS[language]
  const slug = await makeAgent(agent, told)
  const made = await ok(api.POST('/v1/rooms', { body: { name: room, participants: [], agents: [slug] } }))
  const place = { kind: 'room', id: made.id } as const
  for (const [byAgent, text] of lines) await say(place, { text, ...(byAgent && { agent: slug }) })
  await pin(place, landmark, [])
  await putFact({ kind: 'room', id: made.id }, 'ferry', '"07:30"', false)
  return made.id
}

/** One's own, perhaps from an example before: as somebody else's one may not speak. */
async function makeAgent(name: string, instructions: string): Promise<string> {
  const { user } = await ok(api.GET('/v1/me'))
  const own = `${SLUG}-${user?.id.slice(-8)}`
  for (const slug of [SLUG, own]) {
    try {
      await ok(api.POST('/v1/agents', { body: { slug, name, context_window: 8000, instructions } }))
      return slug
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.status !== 409) throw fault
      const { data } = await api.GET('/v1/agents/{slug}', { params: { path: { slug } } })
      if (data && data.created_by === user?.id) return slug
    }
  }
  return own
}
