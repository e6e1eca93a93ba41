import { Center, Loader } from '@mantine/core'
import { useFrameWords } from '@/app/frame.words'

export function Waiting() {
  const words = useFrameWords()
  return (
    <Center p="xl" role="status" aria-label={words('loading')}>
      <Loader size="sm" type="dots" />
    </Center>
  )
}
