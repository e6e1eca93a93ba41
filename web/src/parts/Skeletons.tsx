import { Skeleton, Stack } from '@mantine/core'
import { useFrameWords } from '@/app/frame.words'

/** In the place of a list that is on its way: as many lines as will be seen, so that nothing jumps when it comes. */
export function Skeletons({ lines = 6, height = 84 }: { lines?: number; height?: number }) {
  const words = useFrameWords()
  return (
    <Stack gap="xs" role="status" aria-label={words('loading')}>
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} height={height} radius="md" />
      ))}
    </Stack>
  )
}
