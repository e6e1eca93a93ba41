import { Button, Code, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useFrameWords } from '@/app/frame.words'
import { useSettingsWords } from './settings.words'

/** Asks before what can't be undone; with `typed`, that word has to be written first. */
export function Confirm({
  opened,
  title,
  children,
  label,
  typed,
  busy,
  onConfirm,
  onClose,
}: {
  opened: boolean
  title: string
  children: ReactNode
  label: string
  typed?: string
  busy: boolean
  onConfirm: () => void
  onClose: () => void
}) {
  const frame = useFrameWords()
  const words = useSettingsWords()
  const [written, setWritten] = useState('')
  const close = () => {
    setWritten('')
    onClose()
  }
  return (
    <Modal opened={opened} onClose={close} title={title} closeButtonProps={{ 'aria-label': frame('close') }}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setWritten('')
          onConfirm()
        }}
      >
        <Stack>
          <Text size="sm" component="div">
            {children}
          </Text>
          {typed && (
            <TextInput
              label={<Named text={words('typed', { word: '\u0000' })} word={typed} />}
              aria-label={words('typed', { word: typed })}
              value={written}
              onChange={(event) => setWritten(event.currentTarget.value)}
              autoComplete="off"
              spellCheck={false}
              data-autofocus
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {frame('cancel')}
            </Button>
            <Button
              type="submit"
              color="red.8"
              disabled={typed !== undefined && written !== typed}
              loading={busy}
            >
              {label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

function Named({ text, word }: { text: string; word: string }) {
  const [before, after] = text.split('\u0000')
  return (
    <>
      {before}
      <Code>{word}</Code>
      {after}
    </>
  )
}
