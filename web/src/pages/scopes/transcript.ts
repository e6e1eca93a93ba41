export type Turn = { speaker: string; text: string; ts?: string; id?: string; reply_to?: string }

const NAMED = /^\s*([^:：]{1,80}?)\s*[:：]\s*(\S.*)$/

/**
 * A message a line, as "Name: text"; a line without a name goes on with the message before it. Also the `transcript` of
 * an ingest call as JSON.
 */
export function readTranscript(pasted: string): Turn[] {
  const given = asJson(pasted)
  if (given) return given
  const turns: Turn[] = []
  for (const line of pasted.split(/\r?\n/)) {
    const named = NAMED.exec(line)
    const last = turns.at(-1)
    if (named) turns.push({ speaker: named[1] as string, text: named[2] as string })
    else if (last && line.trim()) last.text += `\n${line.trim()}`
  }
  return turns
}

function asJson(pasted: string): Turn[] | null {
  if (!/^\s*[[{]/.test(pasted)) return null
  try {
    const read: unknown = JSON.parse(pasted)
    const rows: unknown = Array.isArray(read) ? read : (read as { transcript?: unknown }).transcript
    return Array.isArray(rows)
      ? rows
          .filter(isTurn)
          .map(({ speaker, text, ts, id, reply_to }) => ({ speaker, text, ts, id, reply_to }))
      : null
  } catch {
    return null
  }
}

function isTurn(row: unknown): row is Turn {
  const { speaker, text } = (row ?? {}) as Partial<Turn>
  return typeof speaker === 'string' && typeof text === 'string' && text !== ''
}
