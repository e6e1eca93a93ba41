import { Drawer } from '@mantine/core'
import { useDisclosure, useDocumentTitle, useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useNew } from '@/app/keys/keys'
import { chatQuery, useWorkspaces } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Chats } from './Chats'
import { Conversation } from './Conversation'
import classes from './Playground.module.css'
import { usePlace } from './place'
import { usePlaygroundWords } from './playground.words'
import { Side } from './Side'
import { Toolbar } from './Toolbar'
import type { Mode } from './turns'

const NOW = { getInitialValueInEffect: false }

/** Chats with the model, with what the workspace remembers beside them. */
export default function Playground() {
  const words = usePlaygroundWords()
  const place = usePlace()
  const workspaces = useWorkspaces()
  const chat = useQuery({ ...chatQuery(place.chat ?? ''), enabled: place.chat !== undefined })
  const [mode, setMode] = useState<Mode>('chat')
  const [listed, list] = useDisclosure()
  useNew(() => place.openChat(undefined, { workspace: chat.data?.workspace_id ?? place.workspace }))
  const roomForChats = useMediaQuery('(min-width: 62em)', true, NOW)
  const roomForSide = useMediaQuery('(min-width: 75em)', true, NOW)
  const narrow = useMediaQuery('(max-width: 36em)', false, NOW)
  const wide = useMediaQuery('(min-width: 90em)', true, NOW)
  const title = chat.data && (chat.data.title || words('unnamed'))
  useDocumentTitle(`${title ?? words('title')} · Keepstone`)

  if (workspaces.isError) return <Failed error={workspaces.error} retry={() => workspaces.refetch()} />
  if (place.chat && chat.isError) return <Failed error={chat.error} retry={() => place.openChat(undefined)} />
  if (!workspaces.data || (place.chat && !chat.data)) return <Waiting />
  const wanted = place.chat ? chat.data?.workspace_id : place.workspace
  const current =
    workspaces.data.find((one) => one.id === wanted) ??
    workspaces.data.find((one) => one.is_default) ??
    workspaces.data[0]
  if (!current) return <Waiting />

  const chats = (
    <Chats
      workspaces={workspaces.data}
      current={current}
      chat={place.chat}
      onWorkspace={(workspace) => place.openChat(undefined, { workspace })}
      onChat={(id) => {
        list.close()
        place.openChat(id, { workspace: current.is_default ? undefined : current.id })
      }}
    />
  )
  const side = place.side && <Side side={place.side} workspace={current} onSide={place.openSide} />
  const shape = [classes.page, roomForChats && classes.chats, roomForSide && side && classes.beside]
  return (
    <div className={shape.filter(Boolean).join(' ')}>
      {roomForChats && <div className={classes.left}>{chats}</div>}
      <div className={classes.middle}>
        <Toolbar
          title={title ?? ''}
          memories={current.memory_count}
          side={place.side}
          onSide={place.openSide}
          onChats={roomForChats ? undefined : list.open}
          compact={narrow || (place.side !== null && !wide)}
        />
        <div className={classes.talk}>
          <Conversation
            key={place.chat ?? current.id}
            chat={place.chat}
            workspace={current.id}
            mode={mode}
            onMode={setMode}
            onBegun={(id) => place.openChat(id)}
          />
        </div>
      </div>
      {roomForSide && side && <div className={classes.right}>{side}</div>}
      {!roomForChats && (
        <Drawer
          opened={listed}
          onClose={list.close}
          title={words('chats')}
          size={300}
          closeButtonProps={{ 'aria-label': words('cancel') }}
        >
          {chats}
        </Drawer>
      )}
      {!roomForSide && (
        <Drawer.Root
          opened={side !== null}
          onClose={() => place.openSide(null)}
          position="right"
          size="min(420px, 100vw)"
        >
          <Drawer.Overlay />
          <Drawer.Content aria-label={words('side')}>
            <Drawer.Body p={0} h="100%">
              {side}
            </Drawer.Body>
          </Drawer.Content>
        </Drawer.Root>
      )}
    </div>
  )
}
