import { ActionIcon, Menu } from '@mantine/core'
import { IconBookmark, IconCopy, IconDots, IconEdit, IconHistory, IconTrash } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useFrameWords } from '@/app/frame.words'
import { useAddress } from '@/parts/address'
import { offerUndo } from '@/parts/offerUndo'
import { baseOf, remove, restore } from './corrections'
import { type Place, pin, type Said, useRefresh } from './place'
import { useRoomsWords } from './rooms.words'

/** What can be done with a message. Who may not do it is told so by the server. */
export function MessageMenu({
  place,
  said,
  name,
  mine,
  onEdit,
  onHistory,
}: {
  place: Place
  said: Said
  name: string
  mine: boolean
  onEdit: () => void
  onHistory: () => void
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const [, change] = useAddress()
  const base = baseOf(place)
  const keep = useMutation({
    mutationFn: () => pin(place, said.text, []),
    onSuccess: async () => {
      await refresh()
      change({ panel: 'landmarks' })
    },
  })
  const gone = useMutation({
    mutationFn: () => remove(base, 'messages', said.id),
    onSuccess: async () => {
      await refresh()
      offerUndo(words('messageDeleted'), words('undo'), () => {
        void restore(base, 'messages', said.id).then(refresh)
      })
    },
  })
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={words('messageMenu', { name })}>
          <IconDots size={15} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {(mine || said.agent !== null) && (
          <Menu.Item leftSection={<IconEdit size={16} />} onClick={onEdit}>
            {words('edit')}
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={<IconCopy size={16} />}
          onClick={() => void navigator.clipboard.writeText(said.text)}
        >
          {words('copy')}
        </Menu.Item>
        <Menu.Item leftSection={<IconBookmark size={16} />} onClick={() => keep.mutate()}>
          {words('pinThis')}
        </Menu.Item>
        {said.edited_at && (
          <Menu.Item leftSection={<IconHistory size={16} />} onClick={onHistory}>
            {words('history')}
          </Menu.Item>
        )}
        <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => gone.mutate()}>
          {frame('delete')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
