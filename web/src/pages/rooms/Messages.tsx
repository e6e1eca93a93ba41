import { Alert, Button, Center, Group, Loader, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Markdown } from '@/parts/Markdown'
import { Face } from './Face'
import { Message } from './Message'
import type { Place, Said } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import type { Answering, Unsaid } from './useAnswer'
import { useRefusal } from './useRefusal'

const CLOSE = 5 * 60_000 // milliseconds between two messages of one speaker that stand under one name

/** What was said, the oldest first; what an agent is about to say, or could not, at the end. */
export function Messages({
  place,
  messages,
  answering,
  unsaid,
  onDiscard,
  agents,
  earlier,
}: {
  place: Place
  messages: Said[]
  answering: Answering | undefined
  unsaid: Unsaid | undefined
  onDiscard: () => void
  agents: Schema<'AgentOut'>[]
  earlier: ReactNode
}) {
  const words = useRoomsWords()
  const refusal = useRefusal()
  const format = useFormat()
  const [params] = useAddress()
  const shown = params.get('show')
  const titled = (slug: string) => agents.find((one) => one.slug === slug)?.name ?? slug
  return (
    <div className={classes.log} role="log" aria-label={words('conversation')} tabIndex={0}>
      <div>
        <Center>{earlier}</Center>
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
              <Message
                place={place}
                said={one}
                name={one.agent ? titled(one.agent) : one.name}
                first={begins || !follows(before, one)}
                shown={one.id === shown}
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
              <div className={classes.text}>
                <Markdown text={unsaid.text} />
              </div>
              <Alert variant="default" role="alert" title={words('unsaid')}>
                <Text size="sm">{refusal(unsaid.fault, titled(unsaid.agent))}</Text>
                <Button mt="xs" size="compact-xs" variant="default" onClick={onDiscard}>
                  {words('discard')}
                </Button>
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
  )
}

function follows(before: Said, one: Said): boolean {
  const near = Date.parse(one.ts) - Date.parse(before.ts) < CLOSE
  return near && before.user === one.user && before.agent === one.agent && before.thread_id === one.thread_id
}
