/** Server-sent events: bytes go in, events come out. */

import { failureIn, UnexpectedAnswer } from './errors.js'

export interface ServerEvent {
  event: string
  data: unknown
}

/**
 * The events of a body, as they come. One of the name `error` is thrown.
 *
 * Lines end where the protocol says and nowhere else: U+2028 and its like are ordinary characters inside JSON.
 */
export async function* eventsOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  let name = ''
  let data: string[] = []
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true })
    // The other half of a line end may be on its way.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length) yield read(name || 'message', data.join('\n'))
        name = ''
        data = []
        continue
      }
      const colon = line.indexOf(':')
      const field = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (field === 'event') name = value
      else if (field === 'data') data.push(value)
    }
  }
}

function read(event: string, text: string): ServerEvent {
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch {
    throw new UnexpectedAnswer('unexpected_answer', `The event ${event} is not JSON.`)
  }
  if (event === 'error') throw failureIn(data)
  return { event, data }
}
