import { Anchor, Group, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { useAddress } from '@/parts/address'
import { Correct } from './Correct'
import type { Kind } from './corrections'
import { Item } from './Item'
import { Reword } from './Reword'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import { useNames } from './useNames'
import { Wordings } from './Wordings'

/** A landmark or a memory in the panel: what it says, where it is from, and its corrections in place. */
export function Kept({
  base,
  kind,
  id,
  text,
  past,
  source,
  onReplace,
  children,
}: {
  base: string
  kind: Kind
  id: string
  text: string
  past: boolean
  source: string | null
  onReplace?: () => void
  children: ReactNode
}) {
  const words = useRoomsWords()
  const { person } = useNames()
  const [, change] = useAddress()
  const [editing, edit] = useDisclosure()
  const [looking, look] = useDisclosure()
  return (
    <Item id={id} past={past}>
      {editing ? (
        <Reword base={base} kind={kind} id={id} text={text} onDone={edit.close} />
      ) : (
        <Group wrap="nowrap" align="flex-start" gap={4}>
          <Text size="sm" className={classes.text} flex={1}>
            {text}
          </Text>
          <Correct
            base={base}
            kind={kind}
            id={id}
            text={text}
            past={past}
            onEdit={edit.open}
            onHistory={look.open}
            onReplace={onReplace}
          />
        </Group>
      )}
      <Group gap={6} mt={4}>
        {children}
        {source && (
          <Anchor component="button" type="button" size="xs" onClick={() => change({ show: source })}>
            {words('whereSaid')}
          </Anchor>
        )}
      </Group>
      <Wordings base={base} kind={kind} id={id} opened={looking} onClose={look.close} nameOfUser={person} />
    </Item>
  )
}
