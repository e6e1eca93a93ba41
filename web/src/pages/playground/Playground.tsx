import { Drawer } from '@mantine/core'
import { useDisclosure, useDocumentTitle, useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useNew } from '@/app/keys/keys'
import { ListDrawer } from '@/parts/chat/ListDrawer'
import { chatQuery, useWorkspaces, workspaceName } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { Skeletons } from '@/parts/Skeletons'
import { Chats } from './Chats'
import { Conversation } from './Conversation'
import classes from './Playground.module.css'
import { usePlace } from './place'
import { usePlaygroundWords } from './playground.words'
import { Side } from './Side'
import { Toolbar } from './Toolbar'
import type { Mode } from './turns'
import { WorkspaceSheet } from './WorkspaceSheet'

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
  const [sharing, share] = useDisclosure()
  const roomForChats = useMediaQuery('(min-width: 62em)', true, NOW)
  const roomForSide = useMediaQuery('(min-width: 75em)', true, NOW)
  const narrow = useMediaQuery('(max-width: 36em)', false, NOW)
  const title = chat.data && (chat.data.title || words('unnamed'))
  useDocumentTitle(`${title ?? words('title')} · Keepstone`)
  const failed = workspaces.error ?? (place.chat ? chat.error : null)
  const wanted = place.chat ? chat.data?.workspace_id : place.workspace
  const all = workspaces.data ?? []
  const current =
    place.chat && !chat.data
      ? undefined
      : (all.find((one) => one.id === wanted) ?? all.find((one) => one.is_default) ?? all[0])
  if (failed || !current)
    return (
      <Page title={words('title')} full>
        {failed ? (
          <Failed
            error={failed}
            retry={() => (workspaces.isError ? workspaces.refetch() : place.openChat(undefined))}
          />
        ) : (
          <Skeletons />
        )}
      </Page>
    )

  const chats = (
    <Chats
      workspaces={all}
      current={current}
      chat={place.chat}
      onWorkspace={(workspace) => place.openChat(undefined, { workspace })}
      onChat={(id) => {
        list.close()
        place.openChat(id, { workspace: current.is_default ? undefined : current.id })
      }}
      onShare={() => {
        list.close()
        share.open()
      }}
    />
  )
  const side = place.side && (
    <Side side={place.side} workspace={current} memory={place.memory} onSide={place.openSide} />
  )
  const shape = [classes.page, roomForChats && classes.chats, roomForSide && side && classes.beside]
  return (
    <Page
      title={words('title')}
      about={title ?? workspaceName(current, words('defaultWorkspace'))}
      full
      actions={
        <Toolbar
          memories={current.memory_count}
          side={place.side}
          onSide={place.openSide}
          onChats={roomForChats ? undefined : list.open}
          onShare={share.open}
          compact={Boolean(narrow)}
        />
      }
      aside={
        <WorkspaceSheet
          opened={sharing}
          onClose={share.close}
          workspace={current}
          onGone={() => {
            share.close()
            place.openChat(undefined)
          }}
        />
      }
    >
      <div className={shape.filter(Boolean).join(' ')}>
        {roomForChats && <div className={classes.left}>{chats}</div>}
        <div className={classes.talk}>
          <Conversation
            key={place.chat ?? current.id}
            chat={place.chat}
            workspace={current.id}
            mode={mode}
            linkTo={place.memoryLink}
            onMode={setMode}
            onBegun={(id) => place.openChat(id)}
          />
        </div>
        {roomForSide && side && <div className={classes.right}>{side}</div>}
      </div>
      {!roomForChats && (
        <ListDrawer opened={listed} onClose={list.close} title={words('chats')}>
          {chats}
        </ListDrawer>
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
    </Page>
  )
}
