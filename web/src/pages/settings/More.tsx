import { Button, Center } from '@mantine/core'
import { useFrameWords } from '@/app/frame.words'

/** Under a list that has not been shown to its end. */
export function More({
  of,
}: {
  of: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }
}) {
  const words = useFrameWords()
  if (!of.hasNextPage) return null
  return (
    <Center mt="md">
      <Button variant="subtle" size="sm" loading={of.isFetchingNextPage} onClick={() => of.fetchNextPage()}>
        {words('more')}
      </Button>
    </Center>
  )
}
