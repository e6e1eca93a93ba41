import { Button, CloseButton, Progress, Text } from '@mantine/core'
import {
  IconArrowMerge,
  IconFolder,
  IconTag,
  IconTagOff,
  IconTrash,
  IconTypography,
} from '@tabler/icons-react'
import { useState } from 'react'
import { useFormat } from '@/app/session'
import { useRecallWords } from '../../recall.words'
import classes from './Bar.module.css'
import { type Deed, useChoosing } from './choosing'
import { ActingDialog } from './Dialog'
import { useMany } from './many'

const ICON = { size: 16, stroke: 1.6, 'aria-hidden': true } as const
const MERGED = 50 // at most, by the API

/** What can be done to the rows that are chosen. It stands at the bottom of the window. */
export function ChosenBar({ count, onAll }: { count: number; onAll: () => Promise<void> }) {
  const words = useRecallWords()
  const format = useFormat()
  const { chosen, clear, act } = useChoosing()
  const many = useMany()
  const [reading, setReading] = useState(false)
  const ids = [...chosen]
  const deed = (name: Deed) => () => act({ deed: name, ids })
  return (
    <>
      <ActingDialog many={many} />
      {chosen.size > 0 && (
        <section className={classes.bar} aria-label={words('chosen')}>
          <div className={classes.said}>
            <CloseButton aria-label={words('choseNone')} onClick={clear} />
            <Text size="sm" fw={600} aria-live="polite">
              {words('chosenCount', { count: ids.length, number: format.number(ids.length) })}
            </Text>
            {chosen.size < count && (
              <Button
                variant="subtle"
                size="compact-sm"
                loading={reading}
                onClick={async () => {
                  setReading(true)
                  await onAll().finally(() => setReading(false))
                }}
              >
                {words('choseAll', { number: format.number(count) })}
              </Button>
            )}
          </div>
          <div className={classes.deeds}>
            <Button
              variant="subtle"
              size="compact-md"
              leftSection={<IconTag {...ICON} />}
              onClick={deed('tag')}
            >
              {words('tagMany')}
            </Button>
            <Button
              variant="subtle"
              size="compact-md"
              leftSection={<IconTagOff {...ICON} />}
              onClick={deed('untag')}
            >
              {words('untagMany')}
            </Button>
            <Button
              variant="subtle"
              size="compact-md"
              leftSection={<IconFolder {...ICON} />}
              onClick={deed('project')}
            >
              {words('project')}
            </Button>
            <Button
              variant="subtle"
              size="compact-md"
              leftSection={<IconTypography {...ICON} />}
              onClick={deed('kind')}
            >
              {words('kind')}
            </Button>
            <Button
              variant="subtle"
              size="compact-md"
              leftSection={<IconArrowMerge {...ICON} />}
              disabled={ids.length < 2 || ids.length > MERGED}
              onClick={deed('merge')}
            >
              {words('merge')}
            </Button>
            <Button
              variant="subtle"
              size="compact-md"
              leftSection={<IconTrash {...ICON} />}
              onClick={() => {
                clear()
                void many.remove(ids)
              }}
            >
              {words('delete')}
            </Button>
          </div>
        </section>
      )}
      {many.done !== null && (
        <div className={classes.progress} role="status">
          <Text size="xs">{words('working')}</Text>
          <Progress value={many.done * 100} size="sm" aria-label={words('working')} />
        </div>
      )}
    </>
  )
}
