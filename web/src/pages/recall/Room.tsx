import { Anchor, Progress, Text, Tooltip } from '@mantine/core'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import classes from './Room.module.css'
import { useRecallWords } from './recall.words'

const NEARLY = 0.9

/** How much of one's memory is used, where there is a limit. */
export function Room({ used, quota }: { used: number; quota: number | null }) {
  const words = useRecallWords()
  const format = useFormat()
  if (quota === null) return null
  const part = quota > 0 ? Math.min(1, used / quota) : 1
  const label = words('usedUp', { percent: format.percent(part) })
  return (
    <div className={classes.room}>
      <Tooltip label={label}>
        <Progress
          value={part * 100}
          w={120}
          size="sm"
          color={part >= NEARLY ? 'orange' : undefined}
          aria-label={label}
        />
      </Tooltip>
      {part >= NEARLY && (
        <Text size="xs" c="dimmed">
          {words('nearlyFull')}{' '}
          <Anchor component={Link} to="/pricing" size="xs" underline="always">
            {words('plans')}
          </Anchor>
        </Text>
      )}
    </div>
  )
}
