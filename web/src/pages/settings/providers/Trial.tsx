import { Alert, Text } from '@mantine/core'
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import type { Schema } from '@/api/client'
import { useProviderWords } from './providers.words'

type Check = Schema<'CheckOut'>

/** What came of a test, in words: what works, or what to do about what does not. */
export function Trial({
  result,
  error,
  to,
}: {
  result: Schema<'ProviderTestOut'> | undefined
  error: Error | null
  to?: string
}) {
  const words = useProviderWords()
  if (error)
    return (
      <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={words('fails')} role="alert">
        {error.message}
      </Alert>
    )
  const last = result?.checks.at(-1)
  if (!result || !last) return null
  if (result.ok)
    return (
      <Alert color="teal" icon={<IconCheck aria-hidden />} title={words('works')} role="status">
        {words('worksIn', { said: worked(last, result, words, to), ms: last.milliseconds })}
        {result.models.length > 0 && <div>{words('modelsFound', { count: result.models.length })}</div>}
      </Alert>
    )
  const why = last.why ?? 'refused'
  const of_mail = why === 'key' || why === 'unreachable' || why === 'protocol' ? why : 'refused'
  const mail = last.what === 'mail' || last.what === 'message'
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={words('fails')} role="alert">
      {mail ? words(`mail_${of_mail}`) : words(`why_${why}`)}
      {result.models.length > 0 && <div>{words('modelsFound', { count: result.models.length })}</div>}
      <Text size="xs" c="dimmed" mt={4} lang="en">
        {words('said', { said: last.said })}
      </Text>
    </Alert>
  )
}

function worked(
  last: Check,
  result: Schema<'ProviderTestOut'>,
  words: ReturnType<typeof useProviderWords>,
  to: string | undefined,
): string {
  if (last.what === 'embedding') return words('vector', { count: result.dimension ?? 0 })
  if (last.what === 'message') return words('sent', { to: to ?? '' })
  return last.what === 'mail' ? words('letIn') : words('answered')
}
