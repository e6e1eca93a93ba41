import { Text } from '@mantine/core'
import {
  IconAffiliate,
  IconBulb,
  IconFileText,
  IconHash,
  IconMessage2,
  IconRobot,
  IconStack2,
  IconZoomQuestion,
} from '@tabler/icons-react'
import type { Schema } from '@/api/client'
import { Marked } from '@/parts/Marked'
import { useFormat } from '../session'
import classes from './Search.module.css'
import { useSearchWords } from './search.words'

const ICONS = {
  capsule: IconStack2,
  chat: IconMessage2,
  memory: IconBulb,
  document: IconFileText,
  room: IconHash,
  node: IconAffiliate,
  scope: IconZoomQuestion,
}

/** One thing that was found: what it is called, the words that speak for it, where it is and since when. */
export function Result({ thing }: { thing: Schema<'ThingOut'> }) {
  const words = useSearchWords()
  const format = useFormat()
  const { kind, where } = thing
  const Icon = where.place === 'dm' && kind === 'room' ? IconRobot : ICONS[kind]
  const title = thing.title || words('unnamed')
  const place = placeName(thing, words)
  const { name, rest } = apart(title, thing.snippet ?? '')
  return (
    <span className={classes.result}>
      <Icon size={18} stroke={1.6} aria-hidden className={classes.icon} />
      <span className={classes.told}>
        <span className={classes.title}>{name ? <Marked html={name} /> : title}</span>
        {rest && (
          <span className={classes.snippet}>
            <Marked html={rest} />
          </span>
        )}
      </span>
      <Text span size="xs" className={classes.where}>
        {place && <span className={classes.place}>{place}</span>}
        <time dateTime={thing.at}>{format.day(thing.at)}</time>
      </Text>
    </span>
  )
}

function placeName({ kind, where }: Schema<'ThingOut'>, words: ReturnType<typeof useSearchWords>) {
  if (kind === 'capsule' || kind === 'scope') return undefined
  if (kind === 'room') return where.place === 'dm' ? words('dm') : undefined
  if (where.place === 'profile') return words('profile')
  if (where.place === 'dm') return words('direct', { name: where.name })
  if (where.entity) return Object.values(where.entity).filter(Boolean).join(' · ')
  return where.name
}

/** A snippet that begins with the title is not told twice: its marks are shown there, and the rest below. */
function apart(title: string, snippet: string): { name?: string; rest: string } {
  let place = 0
  let left = title.length
  while (left > 0 && place < snippet.length) {
    const [one = ''] = snippet.slice(place).match(/^(<\/?mark>|&[#\w]+;|.)/su) ?? []
    if (!one.endsWith('mark>')) left -= one.startsWith('&') ? 1 : one.length
    place += one.length
  }
  if (snippet.startsWith('</mark>', place)) place += 7
  const name = snippet.slice(0, place)
  if (name.replace(/<\/?mark>/g, '') !== escaped(title)) return { rest: snippet }
  const rest = snippet.slice(place)
  return { name, rest: /[\p{L}\p{N}]/u.test(rest) ? rest.trim() : '' }
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
}
const escaped = (text: string) => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter)
