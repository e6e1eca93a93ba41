import { Button, Group, Stack, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useFormat } from '@/app/session'
import { usageQuery } from '@/parts/capsules/queries'
import { Section } from '../Section'
import { useImportWords } from './import.words'

const FORMS = [
  { form: 'json', label: 'exportJson', about: 'exportJsonHow' },
  { form: 'markdown', label: 'exportMarkdown', about: 'exportMarkdownHow' },
] as const

/** Everything, as one file. */
export function Export() {
  const words = useImportWords()
  const format = useFormat()
  const { data } = useQuery(usageQuery)
  return (
    <Section title={words('export')} about={words('exportHow')}>
      <Stack gap="sm">
        {FORMS.map(({ form, label, about }) => (
          <Group key={form} gap="sm">
            <Button
              component="a"
              href={`/v1/export?format=${form}`}
              download={`keepstone-${form}.zip`}
              variant={form === 'json' ? 'filled' : 'default'}
              leftSection={<IconDownload size={16} aria-hidden />}
            >
              {words(label)}
            </Button>
            <Text size="sm" c="dimmed" flex="1 1 200px">
              {words(about)}
            </Text>
          </Group>
        ))}
        <Text size="xs" c="dimmed" mih="1.45em">
          {data && words('exportSize', { size: format.bytes(data.bytes_used) })}
        </Text>
      </Stack>
    </Section>
  )
}
