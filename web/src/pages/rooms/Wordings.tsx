import { Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useFormat } from '@/app/session'
import { type Kind, wordingsQuery } from './corrections'
import { Items } from './Items'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'

const CHANGES = ['created', 'updated', 'deleted', 'restored', 'returned', 'revived'] as const

/** Every wording that something had, the latest first. */
export function Wordings({
  base,
  kind,
  id,
  opened,
  onClose,
  nameOfUser,
}: {
  base: string
  kind: Kind
  id: string
  opened: boolean
  onClose: () => void
  nameOfUser: (id: string | null) => string | undefined
}) {
  const words = useRoomsWords()
  const format = useFormat()
  const found = useQuery({ ...wordingsQuery(base, kind, id), enabled: opened })
  return (
    <Modal opened={opened} onClose={onClose} title={words('history')}>
      <Stack>
        <Items
          found={found}
          count={found.data?.length ?? 0}
          empty={words('noHistory')}
          label={words('history')}
        >
          {found.data?.map((one) => (
            <li key={one.version} className={classes.item} style={{ listStyle: 'none' }}>
              <Text size="xs" c="dimmed" mb={2}>
                {[
                  words(
                    one.change === 'superseded'
                      ? 'superseded_change'
                      : (CHANGES.find((known) => known === one.change) ?? 'updated'),
                  ),
                  nameOfUser(one.changed_by),
                  format.minute(one.changed_at),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </Text>
              <Text size="sm" className={classes.text} style={{ whiteSpace: 'pre-wrap' }}>
                {one.text}
              </Text>
            </li>
          ))}
        </Items>
      </Stack>
    </Modal>
  )
}
