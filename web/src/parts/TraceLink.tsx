import { Anchor } from '@mantine/core'
import { IconRoute } from '@tabler/icons-react'
import { Link } from 'react-router'
import { useFrameWords } from '@/app/frame.words'

/** From an answer to its trace: what was asked, found, left out and handed out. */
export function TraceLink({ id }: { id: string }) {
  const words = useFrameWords()
  return (
    <Anchor component={Link} to={`/dashboard/traces/${id}`} size="xs" c="dimmed">
      <IconRoute size={14} stroke={1.6} aria-hidden style={{ verticalAlign: '-2px' }} />{' '}
      {words('whatMemoryDid')}
    </Anchor>
  )
}
