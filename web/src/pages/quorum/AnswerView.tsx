import { Alert, Button, Group, Text } from '@mantine/core'
import { IconDeviceFloppy, IconRefresh } from '@tabler/icons-react'
import { Action } from '@/parts/chat/Action'
import { Bubble } from '@/parts/chat/Bubble'
import { CopyAction } from '@/parts/chat/CopyAction'
import { useChatWords } from '@/parts/chat/chat.words'
import { Spent } from '@/parts/chat/Spent'
import { Streaming } from '@/parts/chat/Streaming'
import { Used } from '@/parts/chat/Used'
import { TraceLink } from '@/parts/TraceLink'
import type { Exchange } from './exchanges'
import classes from './Quorum.module.css'
import { useQuorumWords } from './quorum.words'

/** The answer of one model to a question: what it looked up, how long it took, what it cost. */
export function AnswerView({
  label,
  exchange,
  workspace,
  onSave,
  onAgain,
}: {
  label: string
  exchange: Exchange
  workspace: string
  onSave: () => void
  onAgain?: () => void
}) {
  const words = useQuorumWords()
  const said = useChatWords()
  const { phase, answer } = exchange
  const name = exchange.model || words('assistant')
  const again = onAgain && (
    <Button
      size="compact-sm"
      variant="light"
      leftSection={<IconRefresh size={14} stroke={1.8} aria-hidden />}
      onClick={onAgain}
    >
      {words('again')}
    </Button>
  )
  return (
    <div className={classes.answer} role="group" aria-label={label}>
      {phase === 'asking' && <Streaming name={name} text={answer} />}
      {phase !== 'asking' && answer && (
        <Bubble
          mine={false}
          name={name}
          text={answer}
          keepActions
          actions={
            <>
              <Action icon={IconDeviceFloppy} label={said('saveCapsule')} onClick={onSave} />
              <CopyAction text={answer} />
            </>
          }
        />
      )}
      {(phase === 'stopped' || phase === 'unanswered') && (
        <Group gap="sm">
          <Text size="sm" c="dimmed">
            {words(phase)}
          </Text>
          {again}
        </Group>
      )}
      {phase === 'failed' && (
        <Alert color="red" variant="light" title={words('failed')} role="alert">
          <Text size="sm" mb="xs">
            {exchange.error || words('cut')}
          </Text>
          {again}
        </Alert>
      )}
      <div className={classes.spent}>
        <Spent timing={exchange.timing} usage={exchange.usage} />
        <Used
          memories={exchange.used}
          workspace={workspace}
          linkTo={(id) => `/dashboard/playground?workspace=${workspace}&side=memories&memory=${id}`}
        />
        {exchange.trace && <TraceLink id={exchange.trace} />}
      </div>
    </div>
  )
}
