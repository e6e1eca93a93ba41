import { ActionIcon, Menu } from '@mantine/core'
import { IconArrowBackUp, IconDots, IconEdit, IconHistory, IconReplace, IconTrash } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useFrameWords } from '@/app/frame.words'
import { offerUndo } from '@/parts/offerUndo'
import { type Kind, remove, restore, revive } from './corrections'
import { useRefresh } from './place'
import { useRoomsWords } from './rooms.words'

/** What can be done to something that is remembered: another wording, away and back, what it was before. */
export function Correct({
  base,
  kind,
  id,
  text,
  past,
  onEdit,
  onHistory,
  onReplace,
}: {
  base: string
  kind: Kind
  id: string
  text: string
  past: boolean
  onEdit: () => void
  onHistory: () => void
  onReplace?: () => void
}) {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const refresh = useRefresh()
  const gone = useMutation({
    mutationFn: () => remove(base, kind, id),
    onSuccess: async () => {
      await refresh()
      offerUndo(words('deletedOne', { text: text.slice(0, 60) }), words('undo'), () => {
        void restore(base, kind, id).then(refresh)
      })
    },
  })
  const again = useMutation({ mutationFn: () => revive(base, kind, id), onSuccess: refresh })
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={words('itemMenu', { text: text.slice(0, 40) })}>
          <IconDots size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {!past && (
          <Menu.Item leftSection={<IconEdit size={16} />} onClick={onEdit}>
            {words('edit')}
          </Menu.Item>
        )}
        {!past && onReplace && (
          <Menu.Item leftSection={<IconReplace size={16} />} onClick={onReplace}>
            {words('replace')}
          </Menu.Item>
        )}
        {past && (
          <Menu.Item leftSection={<IconArrowBackUp size={16} />} onClick={() => again.mutate()}>
            {words('holdsAgain')}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconHistory size={16} />} onClick={onHistory}>
          {words('history')}
        </Menu.Item>
        <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => gone.mutate()}>
          {frame('delete')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
