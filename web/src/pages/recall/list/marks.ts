import { plain } from '@/parts/excerpt'
import type { Hit } from './months'

const ENDED = /^[\s.。…:：,，;；、!！?？]+/

export type Part = { text: string; mark: boolean }

/**
 * The title and the text of a hit, with the words that were found marked as the server marked them.
 *
 * A snippet from the beginning of a capsule begins with its title: its marks are shown there, not a second time below.
 */
export function marked(hit: Hit): { title: Part[]; text: Part[] } {
  const known = [{ text: hit.title, mark: false }]
  if (!hit.snippet) return { title: known, text: [{ text: withoutTitle(hit), mark: false }] }
  const parts = read(hit.snippet)
  if (!joined(parts).startsWith(hit.title)) return { title: known, text: clean(parts) }
  let text = begun(clean(after(parts, hit.title.length)))
  if (joined(text).startsWith(hit.title)) text = begun(after(text, hit.title.length))
  return {
    title: before(parts, hit.title.length),
    text: text.length ? text : [{ text: withoutTitle(hit), mark: false }],
  }
}

function withoutTitle(hit: Hit): string {
  const text = plain(hit.content_md)
  return text.startsWith(hit.title) ? text.slice(hit.title.length).replace(ENDED, '') || text : text
}

/** Read as HTML, but only its text and its marks are taken over. */
function read(html: string): Part[] {
  const found = new DOMParser().parseFromString(html, 'text/html')
  return [...found.body.childNodes].map((node) => ({
    text: node.textContent ?? '',
    mark: node.nodeName === 'MARK',
  }))
}

function joined(parts: readonly Part[]): string {
  return parts.map((part) => part.text).join('')
}

/** Without the marks of Markdown. */
function clean(parts: readonly Part[]): Part[] {
  return parts.map((part) =>
    part.mark
      ? part
      : { ...part, text: part.text.replace(/(^|\s)#{1,6}\s+/g, '$1').replace(/\*\*|__|~~|`+/g, '') },
  )
}

/** From where a sentence begins: a title is made without the mark that its sentence ends with. */
function begun(parts: readonly Part[]): Part[] {
  const [first, ...others] = parts
  if (!first) return []
  const text = first.text.replace(ENDED, '')
  return text ? [{ ...first, text }, ...others] : begun(others)
}

function before(parts: readonly Part[], length: number): Part[] {
  let left = length
  return parts.flatMap((part) => {
    const text = part.text.slice(0, left)
    left -= text.length
    return text ? [{ ...part, text }] : []
  })
}

function after(parts: readonly Part[], length: number): Part[] {
  let left = length
  return parts.flatMap((part) => {
    const text = part.text.slice(left)
    left = Math.max(0, left - part.text.length)
    return text ? [{ ...part, text }] : []
  })
}
