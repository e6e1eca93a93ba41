import { Text } from '@mantine/core'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Relevance } from '@/parts/relevance/Relevance'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'

type Evidence = Schema<'EvidenceOut'>

/** An answer whose numbers lead to what it stands on. Where it only quotes, each line gets the number of its source. */
export function Answer({
  text,
  evidence,
  onOpen,
}: {
  text: string
  evidence: Evidence[]
  onOpen: (id: string) => void
}) {
  const cites = text.split(/(\[\d{1,3}\])/)
  const numbered = cites.some((part) => numberIn(part, evidence) !== null)
  if (numbered) {
    return (
      <p className={classes.answer}>
        {cites.map((part, place) => {
          const number = numberIn(part, evidence)
          return number === null ? (
            part
          ) : (
            <Citation key={place} number={number} evidence={evidence} onOpen={onOpen} />
          )
        })}
      </p>
    )
  }
  return text.split('\n').map((line, place) => {
    const number = evidence.findIndex((one) => line.endsWith(oneLine(one.text).slice(-200))) + 1
    return (
      <p key={place} className={classes.answer}>
        {line} {number > 0 && <Citation number={number} evidence={evidence} onOpen={onOpen} />}
      </p>
    )
  })
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function numberIn(part: string, evidence: Evidence[]): number | null {
  const number = /^\[(\d{1,3})\]$/.exec(part)?.[1]
  return number !== undefined && evidence[Number.parseInt(number, 10) - 1]
    ? Number.parseInt(number, 10)
    : null
}

function Citation({
  number,
  evidence,
  onOpen,
}: {
  number: number
  evidence: Evidence[]
  onOpen: (id: string) => void
}) {
  const words = useScopesWords()
  const one = evidence[number - 1] as Evidence
  return (
    <button
      type="button"
      className={classes.number}
      title={`${one.speaker}: ${one.text.slice(0, 200)}`}
      aria-label={words('citation', { number })}
      onClick={() => onOpen(one.message_id)}
    >
      {number}
    </button>
  )
}

/** What an answer stands on, numbered; each leads to its place in the conversation. */
export function Sources({ items, onOpen }: { items: Evidence[]; onOpen: (id: string) => void }) {
  const words = useScopesWords()
  const format = useFormat()
  return (
    <ol className={classes.sources} aria-label={words('evidence')}>
      {items.map((one, place) => (
        <li key={one.message_id}>
          <button type="button" className={classes.source} data-row onClick={() => onOpen(one.message_id)}>
            <span className={classes.number} aria-hidden>
              {place + 1}
            </span>
            <span className={classes.sourceText}>
              <Text size="xs" c="dimmed" component="span">
                <b>{one.speaker}</b> · <time dateTime={one.ts}>{format.minute(one.ts)}</time>
              </Text>
              <span>{one.text}</span>
            </span>
            <Relevance value={one.relevance} />
          </button>
        </li>
      ))}
    </ol>
  )
}
