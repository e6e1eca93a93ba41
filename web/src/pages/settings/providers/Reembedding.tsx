import { Alert, Progress, Stack, Text } from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useFormat } from '@/app/session'
import { useProviderWords } from './providers.words'

/** What other embeddings mean for what is kept, and how far the server is with it. */
export function Reembedding() {
  const words = useProviderWords()
  const format = useFormat()
  const [most, setMost] = useState(0)
  const { data: pending = 0 } = useQuery({
    queryKey: ['ready'],
    queryFn: async (): Promise<number> => {
      const told = await (await fetch('/readyz', { headers: { accept: 'application/json' } })).json()
      return told.pending_embeddings ?? 0
    },
    refetchInterval: 2000,
    retry: false,
  })
  useEffect(() => setMost((before) => (pending === 0 ? before : Math.max(before, pending))), [pending])
  return (
    <Stack gap="xs" mt="md">
      <Alert icon={<IconInfoCircle aria-hidden />} title={words('changing')} variant="default">
        {words('changingHow')}
      </Alert>
      {most > 0 && (
        <>
          <Progress
            value={100 - (100 * pending) / most}
            aria-label={words('progress')}
            animated={pending > 0}
          />
          <Text size="sm" c="dimmed" role="status">
            {pending > 0
              ? words('embedding', { count: pending, number: format.number(pending) })
              : words('embedded')}
          </Text>
        </>
      )}
    </Stack>
  )
}
