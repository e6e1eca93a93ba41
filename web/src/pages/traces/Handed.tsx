import { Text } from '@mantine/core'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Section } from './Section'
import { sharesOf } from './sections'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'

type Piece = Schema<'HandedPieceOut'>

const ROLES: Record<string, 'roleSystem' | 'roleUser' | 'roleAssistant'> = {
  system: 'roleSystem',
  assistant: 'roleAssistant',
}

/** A text that left memory: what it is made of, with tokens that add up, and the exact words. */
export function Handed({
  title,
  pieces,
  trace,
  total,
}: {
  title: string
  pieces: Piece[]
  trace: Schema<'TraceOut'>
  total?: number
}) {
  const words = useTracesWords()
  const format = useFormat()
  const whole = total ?? pieces.reduce((sum, one) => sum + one.tokens, 0)
  const shares = sharesOf(trace, pieces, whole, words)
  const tokens = (count: number) => words('tokens', { count, number: format.number(count) })
  const window = total === undefined ? undefined : (trace.parameters as { window?: number }).window
  return (
    <Section title={title} beside={pieces.length > 0 && tokens(whole)}>
      {pieces.length === 0 ? (
        <Text size="sm" c="dimmed">
          {words('handedNone')}
        </Text>
      ) : (
        <>
          <dl className={classes.shares}>
            {shares.map((one) => (
              <div key={one.key} data-tokens={one.tokens}>
                <dt title={one.name}>{one.name}</dt>
                <dd>
                  <span className={classes.bar}>
                    <span className={classes.track} aria-hidden>
                      <span style={{ width: `${(one.tokens / Math.max(whole, 1)) * 100}%` }} />
                    </span>
                    <span className={classes.number}>{format.number(one.tokens)}</span>
                  </span>
                </dd>
              </div>
            ))}
            <div className={classes.sum} data-total={whole}>
              <dt>{words('total')}</dt>
              <dd>
                {tokens(whole)}
                {window ? ` · ${words('ofWindow', { share: format.percent(whole / window) })}` : ''}
              </dd>
            </div>
          </dl>
          <details className={classes.exact}>
            <summary>{words('exact')}</summary>
            {spoken(pieces).map(({ role, parts }, place) => (
              <div key={place}>
                {role && <div className={classes.role}>{words(ROLES[role] ?? 'roleUser')}</div>}
                <pre>
                  {parts.map((one, at) =>
                    one.text === null ? (
                      <em key={at}>[{words('hidden')}]</em>
                    ) : one.sources.length > 0 ? (
                      <mark key={at}>{one.text}</mark>
                    ) : (
                      one.text
                    ),
                  )}
                </pre>
              </div>
            ))}
          </details>
        </>
      )}
    </Section>
  )
}

/** Pieces that follow each other in one message: those of the system are one, each of the others is its own. */
function spoken(pieces: Piece[]): { role: string | null; parts: Piece[] }[] {
  const said: { role: string | null; parts: Piece[] }[] = []
  for (const piece of pieces) {
    const last = said.at(-1)
    if (last && last.role === piece.role && (piece.role === null || piece.role === 'system'))
      last.parts.push(piece)
    else said.push({ role: piece.role, parts: [piece] })
  }
  return said
}
