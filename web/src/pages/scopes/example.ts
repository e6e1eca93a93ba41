import { api, ok, type Schema } from '@/api/client'
import type { Language } from '@/app/words'

type Line = [speaker: string, text: string, daysAgo: number]

const LINES: Record<Language, Line[]> = {
  en: [
    ['Anna', 'I finally signed the lease. I move to Lisbon at the end of the month.', 40],
    ['Ben', 'Then you have to see the island. I go there every summer.', 40],
    ['Anna', 'I live in Lisbon now, on the hill behind the cathedral.', 12],
    ['Ben', 'I booked the ferry to the island for the 14th of June, at half past seven.', 9],
    ['Cleo', 'I can’t eat nuts, please remember that when you book the restaurant.', 9],
    ['Ben', 'Noted. The restaurant is the one with the blue door, for eight people.', 8],
    ['Anna', 'Is there a bus to the harbour that early?', 3],
    ['Cleo', 'Line 28 leaves at ten to seven, I have taken it often.', 3],
  ],
  zh: [
    ['安娜', '租约终于签了，我月底搬去里斯本。', 40],
    ['本', '那您一定要去看看那座岛，我每年夏天都去。', 40],
    ['安娜', '我现在住在里斯本，大教堂后面的山坡上。', 12],
    ['本', '我订了六月十四日早上七点半去岛上的渡轮。', 9],
    ['克莱奥', '我不能吃坚果，订餐厅的时候请记着。', 9],
    ['本', '记下了。餐厅是门刷成蓝色的那家，八个人。', 8],
    ['安娜', '那么早有去港口的公交车吗？', 3],
    ['克莱奥', '28 路六点五十发车，我常坐。', 3],
  ],
}

export const QUESTIONS: Record<Language, string[]> = {
  en: ['When does the ferry leave?', 'What can Cleo not eat?', 'What is the password of the router?'],
  zh: ['渡轮什么时候开？', '克莱奥不能吃什么？', '路由器的密码是什么？'],
}

export const EXAMPLE = 'example-island'

/** A real conversation in a scope of its own; said again it changes nothing, since each line has its id. */
export function ingestExample(language: Language): Promise<Schema<'IngestOut'>> {
  const now = Date.now()
  const transcript = LINES[language].map(([speaker, text, days], place) => ({
    speaker,
    text,
    ts: new Date(now - days * 86_400_000 + place * 60_000).toISOString(),
    id: `${language}-${place}`,
  }))
  return ok(api.POST('/v1/ingest', { body: { scope_id: EXAMPLE, transcript } }))
}
