import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Section } from './Section'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'

/** What the parameters of a trace may hold that says how a question was read. */
type Parameters = {
  times?: { from: string; to: string }[]
  people?: string[]
  agent?: string
  as_of?: string
  min_relevance?: number
  limit?: number
  max_results?: number
  max_tokens?: number
}

/** How the question was understood: times and people that it speaks of, and what bounds it had. */
export function Understood({ trace }: { trace: Schema<'TraceOut'> }) {
  const words = useTracesWords()
  const format = useFormat()
  const given = trace.parameters as Parameters
  const most = given.limit ?? given.max_results
  const lines = [
    ...(given.times ?? []).map(({ from, to }) => {
      const [first, last] = [format.day(from), format.day(new Date(Date.parse(to) - 1).toISOString())]
      return first === last ? words('times', { from: first }) : words('timesTo', { from: first, to: last })
    }),
    given.people?.length ? words('people', { names: given.people.join(', ') }) : null,
    trace.speaker ? words('speaker', { name: trace.speaker }) : null,
    given.agent ? words('agent', { name: trace.names[given.agent] ?? given.agent }) : null,
    given.as_of ? words('asOf', { at: format.minute(given.as_of) }) : null,
    given.min_relevance ? words('atLeast', { value: format.percent(given.min_relevance) }) : null,
    most ? words('atMost', { count: format.number(most) }) : null,
    given.max_tokens ? words('budget', { count: format.number(given.max_tokens) }) : null,
  ].filter((line) => line !== null)
  return (
    <Section title={words('understood')}>
      <ul className={classes.chips}>
        {(lines.length ? lines : [words('plain')]).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Section>
  )
}
