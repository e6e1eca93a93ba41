import { Text } from '@mantine/core'
import { useFollow } from '@/parts/chat/follow'
import { ExchangeView } from './ExchangeView'
import type { Exchange } from './exchanges'
import { ModelInput } from './ModelInput'
import classes from './Quorum.module.css'
import { useQuorumWords } from './quorum.words'

/** One side: which model, and what was said with it. */
export function Pane({
  label,
  model,
  names,
  exchanges,
  workspace,
  hidden,
  onModel,
  onSave,
  onAgain,
}: {
  label: string
  model: string
  names: string[]
  exchanges: Exchange[]
  workspace: string
  hidden: boolean
  onModel: (name: string) => void
  onSave: (exchange: Exchange) => void
  onAgain: () => void
}) {
  const words = useQuorumWords()
  const last = exchanges.at(-1)
  const { box, onScroll } = useFollow(`${exchanges.length} ${last?.phase} ${last?.answer.length}`)
  return (
    <section className={hidden ? `${classes.pane} ${classes.hidden}` : classes.pane} aria-label={label}>
      <div className={classes.head}>
        <ModelInput label={label} value={model} names={names} onChange={onModel} />
      </div>
      <div className={classes.scroll} ref={box} onScroll={onScroll}>
        <div className={classes.inside} role="log" aria-label={label}>
          {exchanges.length === 0 && (
            <Text size="sm" c="dimmed" className={classes.nothing}>
              {words('answerHere')}
            </Text>
          )}
          {exchanges.map((one, place) => (
            <ExchangeView
              key={place}
              exchange={one}
              workspace={workspace}
              onSave={() => onSave(one)}
              onAgain={one === last ? onAgain : undefined}
            />
          ))}
        </div>
      </div>
    </section>
  )
}
