import { Button, Group, Modal, Stack, Text, Title } from '@mantine/core'
import { useNavigate } from 'react-router'
import { useCapsuleWords } from './capsules.words'
import classes from './First.module.css'

/** Once in a life: the first capsule. */
export function First({ id, onClose }: { id: string | null; onClose: () => void }) {
  const words = useCapsuleWords()
  const go = useNavigate()
  return (
    <Modal.Root opened={id !== null} onClose={onClose} centered>
      <Modal.Overlay />
      <Modal.Content aria-label={words('first')} radius="lg">
        <Modal.Body>
          <Stack align="center" gap="md" py="lg" px="sm">
            <div className={classes.glow}>
              <img src="/static/keepstone.svg" alt="" width={96} height={96} className={classes.stones} />
            </div>
            <Title order={2} size="h3" ta="center">
              {words('first')}
            </Title>
            <Text ta="center" c="dimmed" maw={380}>
              {words('firstText')}
            </Text>
            <Group justify="center" gap="xs" mt="xs">
              <Button
                variant="default"
                onClick={() => {
                  onClose()
                  void go(`/dashboard/recall?capsule=${id}`)
                }}
              >
                {words('firstLook')}
              </Button>
              <Button onClick={onClose} data-autofocus>
                {words('firstGo')}
              </Button>
            </Group>
          </Stack>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}
