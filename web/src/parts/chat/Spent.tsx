import { Text } from '@mantine/core'
import { useFormat } from '@/app/session'
import { useChatWords } from './chat.words'

export type Timing = { first_ms: number; total_ms: number }
export type Usage = { prompt_tokens: number; completion_tokens: number }

/** How long an answer took, and how many tokens it cost. */
export function Spent({ timing, usage }: { timing?: Timing; usage?: Usage }) {
  const words = useChatWords()
  const format = useFormat()
  if (!timing) return null
  const seconds = (ms: number) => format.number(Math.round(ms / 100) / 10)
  const took = { first: seconds(timing.first_ms), total: seconds(timing.total_ms) }
  const spent = usage && {
    read: format.number(usage.prompt_tokens),
    written: format.number(usage.completion_tokens),
  }
  const count = usage ? usage.prompt_tokens + usage.completion_tokens : 0
  return (
    <Text
      size="xs"
      c="dimmed"
      component="span"
      title={[words('tookLong', took), spent && words('spent', spent)].filter(Boolean).join(' · ')}
      style={{ whiteSpace: 'nowrap' }}
    >
      {[words('took', took), usage && words('words', { count })].filter(Boolean).join(' · ')}
    </Text>
  )
}
