import { Alert, Button, Stack, Text } from '@mantine/core'
import { useFrameWords } from '@/app/frame.words'

/** In the place of what could not be loaded: why, and a way to try again. */
export function Failed({ error, retry }: { error: Error; retry?: () => void }) {
  const words = useFrameWords()
  return (
    <Alert color="red" title={words('failed')} m="md" role="alert">
      <Stack align="flex-start" gap="xs">
        <Text size="sm">{error.message}</Text>
        {retry && (
          <Button size="xs" variant="light" onClick={retry}>
            {words('again')}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}
