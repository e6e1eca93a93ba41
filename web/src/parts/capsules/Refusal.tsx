import { Alert, Anchor, Text } from '@mantine/core'
import { ApiError } from '@/api/client'
import { useCapsuleWords } from './capsules.words'

/** Why a capsule could not be saved, and what helps. */
export function Refusal({ error }: { error: Error }) {
  const words = useCapsuleWords()
  const code = error instanceof ApiError ? error.code : ''
  const status = error instanceof ApiError ? error.status : 0
  const full = code === 'quota_exceeded'
  const plans = (error instanceof ApiError && error.upgradeUrl) || '/pricing'
  const large = status === 413
  return (
    <Alert
      color={full || large ? 'yellow' : 'red'}
      role="alert"
      styles={{ title: { color: 'var(--mantine-color-text)' } }}
      title={words(full ? 'full' : large ? 'tooLarge' : 'notSaved')}
    >
      <Text size="sm">{full ? words('fullHint') : large ? words('tooLargeHint') : error.message}</Text>
      {full && (
        <Anchor size="sm" href={plans} fw={500}>
          {words('plans')}
        </Anchor>
      )}
    </Alert>
  )
}
