import { IconRobot } from '@tabler/icons-react'
import classes from './Rooms.module.css'

/** Beside a name: a letter for a person, a sign for an agent. */
export function Face({ name, agent = false }: { name: string; agent?: boolean }) {
  return (
    <span className={`${classes.face} ${agent ? classes.agentFace : ''}`} aria-hidden>
      {agent ? <IconRobot size={19} stroke={1.6} /> : ([...name.trim()][0] ?? '?').toUpperCase()}
    </span>
  )
}
