import { Alert, Button, Center, Group, Loader, Text } from '@mantine/core'
import { IconArrowDown } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Markdown } from '@/parts/Markdown'
import { Face } from './Face'
import { Message } from './Message'
import type { Place, Said } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import { useTaken } from './taken'
import type { Answering, Unsaid } from './useAnswer'
import { useRefusal } from './useRefusal'

const NEAR = 240 // pixels
const CLOSE = 5 * 60_000 // milliseconds between two messages of one speaker that stand under one name

/** What was said, the oldest first; what an agent is about to say, or could not, at the end. */
export function Messages({
  place,
  messages,
  answering,
  unsaid,
  onDiscard,
  onRetry,
  agents,
  unread,
  more,
  loading,
  onMore,
}: {
  place: Place
  messages: Said[]
  answering: Answering | undefined
  unsaid: Unsaid | undefined
  onDiscard: () => void
  onRetry: () => void
  agents: Schema<'AgentOut'>[]
  unread: string | null
  more: boolean
  loading: boolean
  onMore: () => void
}) {
  const words = useRoomsWords()
  const refusal = useRefusal()
  const format = useFormat()
  const [params] = useAddress()
  const shown = params.get('show')
  const taken = useTaken(place)
  const log = useRef<HTMLDivElement>(null)
  const [above, setAbove] = useState(false)
  // Earlier ones come before their place is reached, and at once while the window is not full.
  const look = () => {
    const box = log.current
    if (!box) return
    setAbove(box.scrollTop < -NEAR)
    if (more && !loading && box.scrollHeight + box.scrollTop - box.clientHeight < NEAR) onMore()
  }
  useEffect(look)
  const sought = shown?.startsWith('msg_') && !messages.some((one) => one.id === shown)
  useEffect(() => {
    if (sought && more && !loading) onMore()
  }, [sought, more, loading, onMore])
  const titled = (slug: string) => agents.find((one) => one.slug === slug)?.name ?? slug
  return (
    <div className={classes.talk}>
      <div
        ref={log}
        className={classes.log}
        role="log"
        aria-label={words('conversation')}
        tabIndex={0}
        onScroll={look}
      >
        <div>
          <Center mih={20}>{loading && <Loader size={16} type="dots" />}</Center>
          {messages.length === 0 && !answering && !unsaid && (
            <Text c="dimmed" ta="center" py="xl" px="md">
              {words(place.kind === 'room' ? 'silent' : 'silentDirect')}
            </Text>
          )}
          {messages.map((one, index) => {
            const before = messages[index - 1]
            const day = format.day(one.ts)
            const begins = !before || format.day(before.ts) !== day
            return (
              <div key={one.id}>
                {begins && <div className={classes.day}>{day}</div>}
                {one.id === unread && (
                  <div className={`${classes.day} ${classes.unread}`} role="separator">
                    {words('newMessages')}
                  </div>
                )}
                <Message
                  place={place}
                  said={one}
                  name={one.agent ? titled(one.agent) : one.name}
                  first={begins || !follows(before, one)}
                  shown={one.id === shown}
                  taken={taken.get(one.id) ?? []}
                />
              </div>
            )
          })}
          {unsaid && (
            <div className={`${classes.message} ${classes.first}`}>
              <Face agent name={unsaid.agent} />
              <div>
                <Text size="sm" fw={600}>
                  {titled(unsaid.agent)}
                </Text>
                {unsaid.text && (
                  <div className={classes.text}>
                    <Markdown text={unsaid.text} />
                  </div>
                )}
                <Alert
                  variant="default"
                  role="alert"
                  mt={4}
                  title={words(unsaid.fault ? (unsaid.text ? 'unsaid' : 'unanswered') : 'stopped')}
                >
                  {unsaid.fault && <Text size="sm">{refusal(unsaid.fault, titled(unsaid.agent))}</Text>}
                  <Group gap={6} mt="xs">
                    <Button size="xs" variant="light" onClick={onRetry}>
                      {words('retry')}
                    </Button>
                    <Button size="xs" variant="default" onClick={onDiscard}>
                      {words('discard')}
                    </Button>
                  </Group>
                </Alert>
              </div>
            </div>
          )}
          {answering && (
            <div className={`${classes.message} ${classes.first}`} aria-live="polite">
              <Face agent name={answering.agent} />
              <div>
                <Group gap={8}>
                  <Text size="sm" fw={600}>
                    {titled(answering.agent)}
                  </Text>
                  <Loader size={14} type="dots" />
                </Group>
                <div className={classes.text}>
                  {answering.text ? (
                    <Markdown text={answering.text} />
                  ) : (
                    <Text size="sm" c="dimmed">
                      {words('composing')}
                    </Text>
                  )}
                </div>
              </div>
            </div>
          )}
        </div>
      </div>
      {above && (
        <Button
          className={classes.newest}
          size="xs"
          radius="xl"
          leftSection={<IconArrowDown size={14} aria-hidden />}
          onClick={() => log.current?.scrollTo({ top: 0 })}
        >
          {words('toNewest')}
        </Button>
      )}
    </div>
  )
}

function follows(before: Said, one: Said): boolean {
  const near = Date.parse(one.ts) - Date.parse(before.ts) < CLOSE
  return near && before.user === one.user && before.agent === one.agent && before.thread_id === one.thread_id
}
