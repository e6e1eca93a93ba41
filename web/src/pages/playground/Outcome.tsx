import { Alert, Button, Group, Text } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { Bubble } from '@/parts/chat/Bubble'
import { Streaming } from '@/parts/chat/Streaming'
import { Used, type UsedMemory } from '@/parts/chat/Used'
import { usePlaygroundWords } from './playground.words'
import type { Turn } from './turns'

/** Where the answer stands or should stand: being written, stopped, failed. */
export function Outcome({ turn, used, onAgain }: { turn: Turn; used: UsedMemory[]; onAgain: () => void }) {
  const words = usePlaygroundWords()
  const again = (
    <Button
      size="compact-sm"
      variant="light"
      leftSection={<IconRefresh size={14} stroke={1.8} aria-hidden />}
      onClick={onAgain}
    >
      {words('again')}
    </Button>
  )
  if (turn.phase === 'asking' || turn.phase === 'answering') {
    return (
      <div>
        <Streaming name={words('assistant')} text={turn.text} />
        <Used memories={used} workspace={turn.workspace} />
      </div>
    )
  }
  const written = turn.text && <Bubble mine={false} name={words('assistant')} text={turn.text} />
  if (turn.phase === 'stopped') {
    return (
      <div>
        {written}
        <Group gap="sm" mt={4}>
          <Text size="sm" c="dimmed">
            {words('stopped')}
          </Text>
          {again}
        </Group>
      </div>
    )
  }
  if (turn.error?.code === 'no_language_model') {
    return (
      <Text size="sm" c="dimmed" role="status" ta="right">
        {words('quietNoModel')}
      </Text>
    )
  }
  return (
    <div>
      {written}
      <Alert color="red" variant="light" title={words('failed')} role="alert" mt={4}>
        <Text size="sm" mb="xs">
          {turn.error?.message || words('cut')} {turn.said && words('failedHere')}
        </Text>
        {again}
      </Alert>
    </div>
  )
}
