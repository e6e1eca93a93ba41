import { IconBubble, IconMessageQuestion, IconRobot, IconSearch, IconStack2 } from '@tabler/icons-react'
import { Link, useLocation } from 'react-router'
import { useFormat } from '@/app/session'
import { placeName } from './places'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'
import { KINDS, type Kind, type Line } from './useTraces'

const ICONS = {
  recall: IconStack2,
  search: IconSearch,
  ask: IconMessageQuestion,
  injection: IconBubble,
  composition: IconRobot,
} as const

/** One thing that memory did, on a line. */
export function TraceRow({ line, chosen }: { line: Line; chosen: boolean }) {
  const words = useTracesWords()
  const format = useFormat()
  const took = useTook()
  const { search } = useLocation()
  const kind: Kind = KINDS.find((one) => one === line.kind) ?? 'recall'
  const Icon = ICONS[kind]
  return (
    <Link
      to={{ pathname: `/dashboard/traces/${line.id}`, search }}
      className={classes.row}
      data-row
      data-chosen={chosen || undefined}
      aria-current={chosen || undefined}
    >
      <time className={classes.time} dateTime={line.at}>
        {format.clock(line.at)}
      </time>
      <span className={classes.kind} data-kind={kind}>
        <Icon size={15} stroke={1.7} aria-hidden />
        {words(kind)}
      </span>
      <span className={classes.asked} data-gone={line.question ? undefined : true}>
        {line.question || words(line.question === null ? 'questionGone' : 'noQuestion')}
      </span>
      <span className={classes.where} title={placeName(line, words)}>
        {placeName(line, words)}
      </span>
      <span className={classes.who}>{line.person ?? words('aProgram')}</span>
      <span className={classes.found}>
        {line.found
          ? words('usedOf', { used: format.number(line.used), found: format.number(line.found) })
          : words('nothingFound')}
      </span>
      <span className={classes.took}>{took(line.milliseconds)}</span>
    </Link>
  )
}

/** Milliseconds as people read them. */
export function useTook(): (milliseconds: number) => string {
  const words = useTracesWords()
  const format = useFormat()
  return (milliseconds) =>
    milliseconds < 1_000
      ? words('took', {
          time: format.number(
            milliseconds < 10 ? Math.round(milliseconds * 10) / 10 : Math.round(milliseconds),
          ),
        })
      : words('tookSeconds', { time: format.number(Math.round(milliseconds / 100) / 10) })
}
