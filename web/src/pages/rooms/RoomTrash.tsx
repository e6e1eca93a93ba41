import { Badge, Button, Drawer, Group, Text } from '@mantine/core'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useFormat } from '@/app/session'
import { baseOf, restore, type Trashed, trashQuery } from './corrections'
import { Items } from './Items'
import { type Place, useRefresh } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'

const KINDS = { message: 'messages', memory: 'memories', landmark: 'landmarks' } as const
type Named = keyof typeof KINDS

/** What was deleted here and comes back with one click. */
export function RoomTrash({
  place,
  opened,
  onClose,
  nameOfUser,
}: {
  place: Place
  opened: boolean
  onClose: () => void
  nameOfUser: (id: string | null) => string | undefined
}) {
  const words = useRoomsWords()
  const format = useFormat()
  const refresh = useRefresh()
  const found = useInfiniteQuery({ ...trashQuery(place), enabled: opened })
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  const back = useMutation({
    mutationFn: (one: Trashed) => restore(baseOf(place), KINDS[one.kind as Named], one.id),
    onSuccess: refresh,
  })
  return (
    <Drawer opened={opened} onClose={onClose} position="right" title={words('trash')}>
      <Text size="sm" c="dimmed" mb="sm">
        {words('trashAbout')}
      </Text>
      <Items found={found} count={items.length} empty={words('trashEmpty')} label={words('trash')}>
        {items.map((one) => (
          <li key={one.id} className={classes.item} style={{ listStyle: 'none' }}>
            <Group gap={6} mb={4}>
              <Badge size="sm" variant="default" tt="none" fw={500}>
                {words(`trashed_${one.kind as Named}`)}
              </Badge>
              <Text size="xs" c="dimmed">
                {[nameOfUser(one.user_id), words('deletedAt', { at: format.minute(one.deleted_at) })]
                  .filter(Boolean)
                  .join(' · ')}
              </Text>
            </Group>
            <Text size="sm" className={classes.text} lineClamp={6}>
              {one.text}
            </Text>
            <Group justify="flex-end" mt={6}>
              <Button
                size="xs"
                variant="light"
                loading={back.isPending && back.variables?.id === one.id}
                onClick={() => back.mutate(one)}
              >
                {words('restore')}
              </Button>
            </Group>
          </li>
        ))}
      </Items>
    </Drawer>
  )
}
