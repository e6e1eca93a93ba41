import { Alert, Button, FileButton, Stack } from '@mantine/core'
import { IconUpload } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Schema, send } from '@/api/client'
import { Section } from './Section'
import { useSettingsWords } from './settings.words'

/** Reads an archive back and says what came in. */
export function Import() {
  const words = useSettingsWords()
  const client = useQueryClient()
  const read = useMutation({
    mutationFn: async (file: File): Promise<Schema<'ImportedOut'>> => {
      const body = await file.text()
      if (!isJson(body)) throw new Error(words('importNoJson'))
      const headers = { 'content-type': 'application/json' }
      return (await send('/v1/memory/import', { method: 'POST', headers, body })).json()
    },
    meta: { quiet: true },
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['capsules'] })
      void client.invalidateQueries({ queryKey: ['memory'] })
    },
  })
  return (
    <Section title={words('import')} about={words('importHow')}>
      <Stack align="flex-start">
        <FileButton
          onChange={(file) => file && read.mutate(file)}
          accept="application/json,.json"
          inputProps={{ 'aria-label': words('importDo') }}
          key={read.submittedAt}
        >
          {(props) => (
            <Button
              {...props}
              variant="default"
              loading={read.isPending}
              leftSection={<IconUpload size={16} aria-hidden />}
            >
              {words('importDo')}
            </Button>
          )}
        </FileButton>
        {read.data && (
          <Alert role="status" w="100%">
            {words('imported', { count: read.data.imported })}{' '}
            {read.data.skipped > 0 && words('skipped', { count: read.data.skipped })}
          </Alert>
        )}
        {read.error && (
          <Alert color="red" title={words('importFailed')} role="alert" w="100%">
            {read.error.message}
          </Alert>
        )}
      </Stack>
    </Section>
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
