import type { Schema } from '@/api/client'
import type { useAuditWords } from './audit.words'

export type Line = Schema<'NamedAuditOut'>
type Words = ReturnType<typeof useAuditWords>
type Key = Parameters<Words>[0]

/** Lines that tell the same of several things, one after the other on one day: one sentence. */
export type Told = { first: Line; lines: Line[] }

export function gathered(lines: Line[], dayOf: (at: string) => string): { day: string; told: Told[] }[] {
  const days: { day: string; told: Told[] }[] = []
  for (const line of lines) {
    const day = dayOf(line.at)
    if (days.at(-1)?.day !== day) days.push({ day, told: [] })
    const told = days.at(-1)!.told
    const last = told.at(-1)
    if (last && same(last.first, line)) last.lines.push(line)
    else told.push({ first: line, lines: [line] })
  }
  return days
}

function same(one: Line, other: Line): boolean {
  return (
    one.action === other.action &&
    one.user_id === other.user_id &&
    one.via === other.via &&
    one.credential_id === other.credential_id &&
    !one.action.startsWith('session.')
  )
}

/** What a line says, in words; of what has none yet, the name of the action. */
export function sentence(words: Words, has: (key: string) => boolean, { first, lines }: Told): string {
  const who = speaker(words, first)
  const [noun = '', verb = ''] = first.action.split('.')
  const whole = `all_${noun}_${verb}`
  if (has(whole)) return words('plain', { who, did: words(whole as Key) })
  if (!has(`did_${verb}`) || !has(`thing_${noun}_other`)) return words('other', { who, action: first.action })
  const did = words(`did_${verb}` as Key)
  const thing = `thing_${noun}` as Key
  if (lines.length > 1)
    return words('many', { who, did, number: lines.length, things: words(thing, { count: lines.length }) })
  const named = { who, did, thing: words(thing, { count: 1 }), title: first.title ?? '' }
  return first.title ? words('oneNamed', named) : words('one', named)
}

function speaker(words: Words, line: Line): string {
  const key = line.credential
  if (line.via === 'job') return line.who ?? words('server')
  if (line.via === 'cli') return line.who ?? words('operator')
  if (line.via === 'webhook') return words('payment')
  if (line.via !== 'key') return line.who ?? words('somebody')
  if (line.user_id === null) return key ? words('keyNamed', { key }) : words('keyAlone')
  const who = line.who ?? words('somebody')
  return key ? words('withKey', { who, key }) : words('withSomeKey', { who })
}
