import { Button, Group, Modal, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { usePlaygroundWords } from './playground.words'

/** Asks for a name. */
export function NameModal({
  title,
  initial,
  onClose,
  onNamed,
}: {
  title: string
  initial: string
  onClose: () => void
  onNamed: (name: string) => void
}) {
  const words = usePlaygroundWords()
  const [name, setName] = useState(initial)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === '') return
    onNamed(name.trim())
    onClose()
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      centered
      closeButtonProps={{ 'aria-label': words('cancel') }}
    >
      <form onSubmit={submit}>
        <TextInput
          label={words('name')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={255}
          data-autofocus
        />
        <Group justify="flex-end" mt="md" gap="xs">
          <Button variant="default" onClick={onClose}>
            {words('cancel')}
          </Button>
          <Button type="submit" disabled={name.trim() === ''}>
            {words('save')}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}
