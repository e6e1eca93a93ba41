import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { Audit } from './Audit'
import { DeleteAll } from './DeleteAll'
import { Import } from './Import'
import { Section } from './Section'
import { useSettingsWords } from './settings.words'

export function Data({ owner }: { owner: boolean }) {
  const words = useSettingsWords()
  return (
    <>
      <Section title={words('export')} about={words('exportHow')}>
        <Button
          component="a"
          href="/v1/memory/export"
          download="keepstone-capsules.json"
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          {words('exportDo')}
        </Button>
      </Section>
      <Import />
      <DeleteAll />
      <Audit owner={owner} />
    </>
  )
}
