import { Button, Loader } from '@mantine/core'
import { onlineManager } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { askNow } from '@/api/reach'
import classes from './connection.module.css'
import { useFrameWords } from './frame.words'

const reached = () => onlineManager.isOnline()
const watch = (changed: () => void) => onlineManager.subscribe(changed)

/** Says when the server can't be reached. When it is back, TanStack Query loads what failed meanwhile by itself. */
export function Connection() {
  const words = useFrameWords()
  const online = useSyncExternalStore(watch, reached)
  return (
    <div role="status" className={classes.place}>
      {!online && (
        <div className={classes.banner}>
          <Loader size="xs" color="currentColor" aria-hidden />
          <span>{words('unreachable')}</span>
          <Button size="compact-sm" variant="white" onClick={askNow}>
            {words('again')}
          </Button>
        </div>
      )}
    </div>
  )
}
