import { Text } from '@mantine/core'
import { useMemo } from 'react'
import { useRecallWords } from '../recall.words'
import classes from './Compared.module.css'
import { diff } from './diff'

const AROUND = 240 // characters of what is the same, before and after a change

/** What a version changed, with a little of what stands around it. */
export function Compared({ before, after }: { before: string; after: string }) {
  const words = useRecallWords()
  const changes = useMemo(() => diff(before, after), [before, after])
  if (before === after) {
    return (
      <Text size="sm" c="dimmed">
        {words('sameText')}
      </Text>
    )
  }
  return (
    <div className={classes.text}>
      {changes.map((change, place) => {
        const key = place
        if (change.is === 'gone') {
          return (
            <del key={key} aria-label={words('taken', { text: change.text })}>
              {change.text}
            </del>
          )
        }
        if (change.is === 'new') {
          return (
            <ins key={key} aria-label={words('put', { text: change.text })}>
              {change.text}
            </ins>
          )
        }
        return <span key={key}>{shortened(change.text, place > 0, place < changes.length - 1)}</span>
      })}
    </div>
  )
}

function shortened(text: string, after: boolean, before: boolean): string {
  if (text.length <= AROUND * 2) return text
  const head = after ? text.slice(0, AROUND) : ''
  const tail = before ? text.slice(-AROUND) : ''
  return `${head} … ${tail}`
}
