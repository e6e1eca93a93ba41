import {
  IconBookmarkFilled,
  IconBookmarkPlus,
  IconDeviceFloppy,
  IconPencil,
  IconRefresh,
} from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { memo, type ReactNode, useEffect, useState } from 'react'
import { api, ok } from '@/api/client'
import { Action } from '@/parts/chat/Action'
import { Bubble } from '@/parts/chat/Bubble'
import { CopyAction } from '@/parts/chat/CopyAction'
import { useChatWords } from '@/parts/chat/chat.words'
import { chatMemoriesQuery, type Message, memoriesKey, workspacesQuery } from '@/parts/chat/workspace'
import { useShown } from '@/parts/shown'
import { Branches } from './Branches'
import { usePlaygroundWords } from './playground.words'
import { Reword } from './Reword'

const LIT = 1800

/** A message of the chat, with what one may do with it. `onInstead` asks anew: another wording, or the same again. */
export const MessageItem = memo(function MessageItem({
  message,
  chat,
  workspace,
  own,
  onSave,
  onInstead,
  children,
}: {
  message: Message
  chat: string
  workspace: string
  own: boolean
  onSave: (message: Message) => void
  onInstead?: (message: Message, text: string) => void
  children?: ReactNode
}) {
  const words = usePlaygroundWords()
  const said = useChatWords()
  const client = useQueryClient()
  const [lit, setLit] = useState(false)
  const [editing, setEditing] = useState(false)
  const remember = useMutation({
    mutationFn: () =>
      ok(
        api.POST('/chat/api/{chat_id}/memory', {
          params: { path: { chat_id: chat } },
          body: { messageId: message.id, synthesize: false, supersede: 'auto' },
        }),
      ),
    onSuccess: () => {
      setLit(true)
      void client.invalidateQueries({ queryKey: memoriesKey(workspace) })
      void client.invalidateQueries({ queryKey: chatMemoriesQuery(chat).queryKey })
      void client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
    },
  })
  useEffect(() => {
    if (!lit) return
    const later = setTimeout(() => setLit(false), LIT)
    return () => clearTimeout(later)
  }, [lit])
  const [box, shown] = useShown<HTMLDivElement>(message.id)
  const mine = message.role === 'user'
  const told = remember.data && (remember.data.deduplicated ? said('known') : said('remembered'))
  if (editing)
    return (
      <Reword
        text={message.content}
        onCancel={() => setEditing(false)}
        onAsk={(text) => {
          setEditing(false)
          onInstead?.(message, text)
        }}
      />
    )
  return (
    <div ref={box}>
      <Bubble
        mine={mine}
        name={mine ? words('me') : (message.model ?? words('assistant'))}
        at={message.created_at}
        text={message.content}
        lit={lit || shown}
        actions={
          <>
            <Branches message={message} chat={chat} />
            {mine && own && onInstead && (
              <Action icon={IconPencil} label={words('editMessage')} onClick={() => setEditing(true)} />
            )}
            {!mine && onInstead && (
              <Action icon={IconRefresh} label={words('regenerate')} onClick={() => onInstead(message, '')} />
            )}
            <CopyAction text={message.content} />
            <Action icon={IconDeviceFloppy} label={said('saveCapsule')} onClick={() => onSave(message)} />
            <Action
              icon={told ? IconBookmarkFilled : IconBookmarkPlus}
              color={told ? 'stone' : 'gray'}
              label={told ?? said('remember')}
              busy={remember.isPending}
              onClick={() => remember.mutate()}
            />
          </>
        }
        keepActions={lit || (message.siblings?.length ?? 0) > 1}
      >
        {children}
        <span role="status" style={{ position: 'absolute', clipPath: 'inset(50%)' }}>
          {lit ? told : ''}
        </span>
      </Bubble>
    </div>
  )
})
