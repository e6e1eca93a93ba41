import { Button, Group } from '@mantine/core'
import { Link } from 'react-router'
import { useWelcomeWords } from '@/pages/welcome/welcome.words'
import { Empty } from '@/parts/Empty'

/** Before the first capsule, for whoever is done with the welcome. */
export function NoCapsules({ onNew }: { onNew: () => void }) {
  const words = useWelcomeWords()
  return (
    <Empty
      title={words('emptyTitle')}
      action={
        <Group justify="center" gap="xs">
          <Button onClick={onNew}>{words('emptyWrite')}</Button>
          <Button component={Link} to="/dashboard/settings/import" variant="default">
            {words('emptyImport')}
          </Button>
          <Button component={Link} to="/dashboard/settings/mcp" variant="default">
            {words('emptyConnect')}
          </Button>
        </Group>
      }
    >
      {words('emptyText')}
    </Empty>
  )
}
