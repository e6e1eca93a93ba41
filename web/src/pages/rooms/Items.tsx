import { Button, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFrameWords } from '@/app/frame.words'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'

type Found = { isPending: boolean; isError: boolean; error: Error | null; refetch: () => unknown }
type More = { hasNextPage?: boolean; isFetchingNextPage?: boolean; fetchNextPage?: () => unknown }

/** A list in the panel: while it comes, when it can't, when it is empty, and with more of it. */
export function Items({
  found,
  empty,
  count,
  label,
  children,
}: {
  found: Found & More
  empty: string
  count: number
  label: string
  children: ReactNode
}) {
  const frame = useFrameWords()
  if (found.isPending) return <Waiting />
  if (found.isError && found.error) return <Failed error={found.error} retry={() => void found.refetch()} />
  if (count === 0)
    return (
      <Text size="sm" c="dimmed">
        {empty}
      </Text>
    )
  return (
    <>
      <Stack component="ul" gap="xs" m={0} p={0} aria-label={label}>
        {children}
      </Stack>
      {found.hasNextPage && (
        <Button
          size="xs"
          variant="default"
          mt="sm"
          loading={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage?.()}
        >
          {frame('more')}
        </Button>
      )}
    </>
  )
}
