import { Alert, Group, Loader, Text } from '@mantine/core'
import { useState } from 'react'
import { ApiError } from '@/api/client'
import { Cards, Section } from '../Section'
import { DeleteAll } from './DeleteAll'
import { Drop } from './Drop'
import { Export } from './Export'
import { useImportWords } from './import.words'
import { Preview } from './Preview'
import { Runs } from './Runs'
import { isOver, usePreview } from './useImports'

const LOOKS = ['pdf', 'picture', 'office', 'html', 'packed', 'json', 'text', 'bytes'] as const

const HOW = [
  'howChatgpt',
  'howClaude',
  'howOpenwebui',
  'howSlack',
  'howWhatsapp',
  'howMem0',
  'howMarkdown',
  'howKeepstone',
] as const

/** In and out: drop an export, look at what would come, bring it in and see what became of it; take everything out. */
export function Import() {
  return (
    <>
      <BringIn />
      <Cards>
        <Runs />
        <Export />
        <DeleteAll />
      </Cards>
    </>
  )
}

/** Drop, look, bring in. */
export function BringIn() {
  const words = useImportWords()
  const [files, setFiles] = useState<File[]>([])
  const { begin, read, error } = usePreview()
  const name = files.length === 1 ? files[0]!.name : `${files.length} × .md`
  const busy = begin.isPending || (begin.isSuccess && !(read && isOver(read)))
  const look = (given: File[]) => {
    setFiles(given)
    begin.mutate(given)
  }
  const again = () => {
    setFiles([])
    begin.reset()
  }
  const fault = error ?? (read?.state === 'failed' ? new Error(read.error?.message ?? '') : null)
  const looks = LOOKS.find((one) => error instanceof ApiError && one === looksLike(error.details))
  return (
    <>
      {read?.state === 'done' && begin.data ? (
        <Preview key={read.id} found={read} files={files} onDone={again} />
      ) : (
        <Drop onFiles={look} busy={busy} />
      )}
      {busy && (
        <Section title={words('looking', { name })}>
          <Group gap="sm" role="status">
            <Loader size="sm" />
            <Text size="sm">{words('uploading')}</Text>
          </Group>
        </Section>
      )}
      {fault && (
        <Alert color="red" title={words('refused')} role="alert">
          {looks ? words(`looks_${looks}`, { name }) : fault.message}
        </Alert>
      )}
      <details>
        <Text component="summary" size="sm" style={{ cursor: 'pointer' }}>
          {words('example')}
        </Text>
        {HOW.map((one) => (
          <Text key={one} size="sm" c="dimmed" mt={4}>
            {words(one)}
          </Text>
        ))}
      </details>
    </>
  )
}

function looksLike(details: unknown): unknown {
  return typeof details === 'object' && details !== null && 'looks_like' in details
    ? details.looks_like
    : undefined
}
