import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { Section } from '../Section'
import { useCounts } from './counts'
import classes from './Import.module.css'
import { useImportWords } from './import.words'
import { LeftOut } from './LeftOut'
import { type ImportRun, importsQuery, upload } from './useImports'

const INTO = { usual: '', capsules: 'capsules', workspace: 'workspace' } as const

/** What a file would bring: how many, some of it, what stays out; and where to. */
export function Preview({ found, files, onDone }: { found: ImportRun; files: File[]; onDone: () => void }) {
  const words = useImportWords()
  const frame = useFrameWords()
  const format = useFormat()
  const counts = useCounts()
  const client = useQueryClient()
  const [into, setInto] = useState<keyof typeof INTO>('usual')
  const [dates, setDates] = useState('')
  const bring = useMutation({
    mutationFn: () => upload(files, { dry_run: false, into: INTO[into], dates }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: importsQuery.queryKey })
      onDone()
    },
  })
  const read = counts(found.read)
  const kinds = ['conversation', 'note', 'capsule'] as const
  return (
    <Section
      title={words('preview')}
      about={words('from', {
        source: words(`source_${found.source as 'chatgpt'}`),
        name: found.name,
        size: format.bytes(found.size_bytes),
      })}
    >
      <Stack gap="md">
        {read.length === 0 ? (
          <Text>{words('nothing')}</Text>
        ) : (
          <div className={classes.counts}>
            {read.map((one) => (
              <Text key={one} fw={600} size="lg">
                {one}
              </Text>
            ))}
          </div>
        )}
        {found.samples.length > 0 && (
          <div>
            <Text fw={600} size="sm" mb="xs">
              {words('samples')}
            </Text>
            <ul className={classes.samples} aria-label={words('samples')}>
              {found.samples.map((sample, at) => {
                const kind = kinds.find((one) => one === sample.kind)
                return (
                  <li key={at} className={classes.sample}>
                    <Text size="xs" c="dimmed">
                      {kind ? words(`kind_${kind}`) : sample.kind}
                    </Text>
                    <Text size="sm" fw={600} lineClamp={2}>
                      {sample.title || words('untitled')}
                    </Text>
                    <Text size="sm" lineClamp={4}>
                      {sample.text}
                    </Text>
                  </li>
                )
              })}
            </ul>
          </div>
        )}
        <LeftOut of={found} />
        {found.remarks.length > 0 && (
          <>
            {found.remarks.map((one) => (
              <Text key={one} size="sm">
                {one}
              </Text>
            ))}
            <Select
              label={words('dates')}
              description={words('datesHow')}
              maw={460}
              data={[
                { value: '', label: words('dates_guessed') },
                { value: 'dmy', label: words('dates_dmy') },
                { value: 'mdy', label: words('dates_mdy') },
              ]}
              value={dates}
              onChange={(next) => setDates(next ?? '')}
              allowDeselect={false}
            />
          </>
        )}
        {found.source !== 'keepstone' && read.length > 0 && (
          <Select
            label={words('into')}
            maw={460}
            data={[
              { value: 'usual', label: words('intoUsual') },
              { value: 'capsules', label: words('intoCapsules') },
              { value: 'workspace', label: words('intoWorkspace') },
            ]}
            value={into}
            onChange={(next) => next && setInto(next as keyof typeof INTO)}
            allowDeselect={false}
          />
        )}
        <Group gap="xs">
          <Button onClick={() => bring.mutate()} loading={bring.isPending} disabled={read.length === 0}>
            {words('bring')}
          </Button>
          <Button variant="default" onClick={onDone}>
            {frame('cancel')}
          </Button>
        </Group>
      </Stack>
    </Section>
  )
}
