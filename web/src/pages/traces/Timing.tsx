import type { Schema } from '@/api/client'
import { Section } from './Section'
import { useTook } from './TraceRow'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'

const STEPS = ['look up', 'judge', 'model', 'pack', 'fit', 'compact', 'note'] as const

/** How long each step took, and all of it. */
export function Timing({ trace }: { trace: Schema<'TraceOut'> }) {
  const words = useTracesWords()
  const took = useTook()
  const sum = trace.steps.reduce((total, step) => total + step.milliseconds, 0)
  const rest = trace.milliseconds - sum
  const steps = [
    ...trace.steps.map((step, place) => {
      const known = STEPS.find((name) => name === step.name)
      const name = known ? words(known) : step.name === 'search' ? words('step_search') : step.name
      return { key: `${step.name}-${place}`, name, time: step.milliseconds }
    }),
    ...(rest > 0.5 ? [{ key: 'rest', name: words('rest'), time: rest }] : []),
  ]
  return (
    <Section title={words('timing')} beside={took(trace.milliseconds)}>
      <dl className={classes.shares}>
        {steps.map((step) => (
          <div key={step.key}>
            <dt>{step.name}</dt>
            <dd>
              <span className={classes.bar}>
                <span className={classes.track} aria-hidden>
                  <span
                    style={{ width: `${(step.time / Math.max(trace.milliseconds, sum, 0.001)) * 100}%` }}
                  />
                </span>
                <span className={classes.number}>{took(step.time)}</span>
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}
