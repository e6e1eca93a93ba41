import { Alert, Button, Group, Text } from '@mantine/core'
import { IconDeviceFloppy, IconRefresh } from '@tabler/icons-react'
import { CapsuleChips } from '@/parts/capsules/CapsuleChips'
import { Action } from '@/parts/chat/Action'
import { Bubble } from '@/parts/chat/Bubble'
import { CopyAction } from '@/parts/chat/CopyAction'
import { useChatWords } from '@/parts/chat/chat.words'
import { Streaming } from '@/parts/chat/Streaming'
import { Used } from '@/parts/chat/Used'
import type { Exchange } from './exchanges'
import { useQuorumWords } from './quorum.words'

/** A question, and the answer of one model to it. */
export function ExchangeView({
  exchange,
  workspace,
  onSave,
  onAgain,
}: {
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
    <>
      <Bubble mine name={words('me')} text={exchange.question}>
        <CapsuleChips capsules={exchange.capsules} />
        <Used memories={exchange.used} workspace={workspace} />
      </Bubble>
      {phase === 'asking' && <Streaming name={name} text={answer} />}
      {phase !== 'asking' && answer && (
        <Bubble
          mine={false}
          name={name}
          text={answer}
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
    </>
  )
}
