import { ActionIcon, Slider, Text } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useFormat } from '@/app/session'
import { useBoardWords } from './board.words'
import classes from './TimeSlider.module.css'

const STEPS = 200
const BARS = 60
const TICK = 60 // ms between two steps while it plays

/** A moment between the first and now, chosen on a line or played through; null is now. */
export function TimeSlider({
  label,
  since,
  until,
  value,
  times,
  onChange,
}: {
  label: string
  since: number
  until: number
  value: number | null
  /** When there came what: the line shows how much. */
  times: readonly number[]
  onChange: (at: number | null) => void
}) {
  const words = useBoardWords()
  const format = useFormat()
  const [playing, setPlaying] = useState(false)
  const span = Math.max(until - since, 1)
  const step = value === null ? STEPS : Math.round(((value - since) / span) * STEPS)
  const go = (next: number) => onChange(next >= STEPS ? null : since + (Math.max(next, 0) / STEPS) * span)
  const now = useRef({ step, go })
  now.current = { step, go }
  useEffect(() => {
    if (!playing) return
    const clock = setInterval(() => {
      const next = now.current.step + 1
      now.current.go(next)
      if (next >= STEPS) setPlaying(false)
    }, TICK)
    return () => clearInterval(clock)
  }, [playing])
  const bars = useMemo(() => {
    const counts = new Array<number>(BARS).fill(0)
    for (const time of times) {
      const bar = Math.min(BARS - 1, Math.max(0, Math.floor(((time - since) / span) * BARS)))
      counts[bar] = (counts[bar] ?? 0) + 1
    }
    const most = Math.max(...counts, 1)
    return counts.map((count) => Math.sqrt(count / most))
  }, [times, since, span])
  const said = value === null ? words('now') : format.day(new Date(value).toISOString())
  return (
    <div className={classes.row}>
      <ActionIcon
        variant="default"
        aria-label={words(playing ? 'pause' : 'play')}
        onClick={() => {
          if (!playing && step >= STEPS) go(0)
          setPlaying(!playing)
        }}
      >
        {playing ? (
          <IconPlayerPause size={16} stroke={1.6} aria-hidden />
        ) : (
          <IconPlayerPlay size={16} stroke={1.6} aria-hidden />
        )}
      </ActionIcon>
      <div className={classes.track}>
        <div className={classes.bars} aria-hidden hidden={times.length === 0}>
          {bars.map((height, bar) => (
            <span
              key={bar}
              className={classes.bar}
              data-over={bar / BARS < step / STEPS || undefined}
              style={{ height: `${height * 100}%` }}
            />
          ))}
        </div>
        <Slider
          size={4}
          thumbSize={18}
          min={0}
          max={STEPS}
          value={Math.min(Math.max(step, 0), STEPS)}
          label={null}
          thumbLabel={label}
          thumbProps={{ 'aria-valuetext': said }}
          onChange={(next) => {
            setPlaying(false)
            go(next)
          }}
        />
      </div>
      <Text size="sm" className={classes.date}>
        {said}
      </Text>
    </div>
  )
}
