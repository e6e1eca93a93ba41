import { Button, FileButton, Text, Title } from '@mantine/core'
import { IconFileImport } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import classes from './Import.module.css'
import { useImportWords } from './import.words'

/** Takes files that are dropped anywhere on the page, or chosen. */
export function Drop({ onFiles, busy }: { onFiles: (files: File[]) => void; busy: boolean }) {
  const words = useImportWords()
  const [over, setOver] = useState(false)
  useEffect(() => {
    const has = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false
    const enter = (event: DragEvent) => {
      if (!has(event)) return
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false)
    }
    const drop = (event: DragEvent) => {
      if (!has(event)) return
      event.preventDefault()
      setOver(false)
      const files = [...(event.dataTransfer?.files ?? [])]
      if (files.length > 0 && !busy) onFiles(files)
    }
    window.addEventListener('dragover', enter)
    window.addEventListener('dragleave', leave)
    window.addEventListener('drop', drop)
    return () => {
      window.removeEventListener('dragover', enter)
      window.removeEventListener('dragleave', leave)
      window.removeEventListener('drop', drop)
    }
  }, [onFiles, busy])
  return (
    <section className={classes.drop} data-over={over || undefined} aria-label={words('drop')}>
      <IconFileImport size={40} stroke={1.3} className={classes.icon} aria-hidden />
      <Title order={2} size="h4">
        {over ? words('dropNow') : words('drop')}
      </Title>
      <Text size="sm" c="dimmed" maw={560}>
        {words('dropHow')}
      </Text>
      <FileButton
        multiple
        onChange={(files) => files.length > 0 && onFiles(files)}
        inputProps={{ 'aria-label': words('choose') }}
      >
        {(props) => (
          <Button {...props} mt="xs" loading={busy}>
            {words('choose')}
          </Button>
        )}
      </FileButton>
    </section>
  )
}
