import { useFormat } from '@/app/session'
import classes from './Relevance.module.css'
import { useRelevanceWords } from './relevance.words'

/** How likely it is what was asked for: a small bar and the number. */
export function Relevance({ value }: { value: number }) {
  const words = useRelevanceWords()
  const format = useFormat()
  const shown = format.percent(value)
  const said = words('relevance', { value: shown, meaning: words(meaning(value)) })
  return (
    <span className={classes.relevance} title={said} role="img" aria-label={said}>
      <span className={classes.track}>
        <span
          className={classes.fill}
          style={{ display: 'block', width: `${Math.min(Math.max(value, 0), 1) * 100}%` }}
        />
      </span>
      <span className={classes.number}>{shown}</span>
    </span>
  )
}

function meaning(value: number) {
  if (value > 0.9) return 'veryHigh'
  if (value > 0.7) return 'high'
  return value >= 0.5 ? 'moderate' : 'low'
}
