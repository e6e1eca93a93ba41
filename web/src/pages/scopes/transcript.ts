export type Turn = { speaker: string; text: string }

const NAMED = /^\s*([^:：]{1,80}?)\s*[:：]\s*(\S.*)$/

/** A message a line, as "Name: text"; a line without a name goes on with the message before it. */
export function readTranscript(pasted: string): Turn[] {
  const turns: Turn[] = []
  for (const line of pasted.split(/\r?\n/)) {
    const named = NAMED.exec(line)
    const last = turns.at(-1)
    if (named) turns.push({ speaker: named[1] as string, text: named[2] as string })
    else if (last && line.trim()) last.text += `\n${line.trim()}`
  }
  return turns
}
