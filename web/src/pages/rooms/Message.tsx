import { Anchor, Badge, Button, Group, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconBookmark, IconBulb } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useNavigate } from 'react-router'
import { useFormat, useMe } from '@/app/session'
import { useAddress } from '@/parts/address'
import { CapsuleChips } from '@/parts/capsules/CapsuleChips'
import { Markdown } from '@/parts/Markdown'
import { TraceLink } from '@/parts/TraceLink'
import { capsulesOf } from './capsules'
import { baseOf } from './corrections'
import { Face } from './Face'
import { MessageMenu } from './MessageMenu'
import { type Place, type Said, threadsQuery } from './place'
import { Reword } from './Reword'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import type { Taken } from './taken'
import { useNames } from './useNames'
import { Wordings } from './Wordings'

/** One message; `first`: under a name. `taken` is what is remembered of it. */
export function Message({
  place,
  said,
  name,
  first,
  shown,
  taken,
}: {
  place: Place
  said: Said
  name: string
  first: boolean
  shown: boolean
  taken: Taken[]
}) {
  const words = useRoomsWords()
  const format = useFormat()
  const me = useMe()
  const go = useNavigate()
  const { person } = useNames()
  const [params, change] = useAddress()
  const [editing, edit] = useDisclosure()
  const [looking, look] = useDisclosure()
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (shown) box.current?.scrollIntoView({ block: 'center' })
  }, [shown])
  const threads = useQuery({
    ...threadsQuery(place.kind === 'room' ? place.id : ''),
    enabled: place.kind === 'room' && said.thread_id !== null,
  })
  const thread = threads.data?.items.find((one) => one.id === said.thread_id)
  const capsules = capsulesOf(said)
  const others = said.attachments.filter((one) => one.type !== 'capsule')
  const mine = said.user !== null && said.user === me?.user?.id
  return (
    <div
      ref={box}
      id={said.id}
      className={`${classes.message} ${first ? classes.first : ''} ${shown ? classes.shown : ''}`}
    >
      {first ? <Face name={name} agent={said.agent !== null} /> : <span />}
      <div>
        {first && (
          <Group gap={8}>
            <Text size="sm" fw={600}>
              {mine ? words('you') : name}
            </Text>
            <Text size="xs" c="dimmed">
              <time dateTime={said.ts}>{format.clock(said.ts)}</time>
            </Text>
            {said.thread_id && params.get('thread') !== said.thread_id && (
              <Badge
                component="button"
                size="sm"
                variant="default"
                tt="none"
                fw={500}
                onClick={() => change({ thread: said.thread_id })}
              >
                {thread?.title || words('untitled')}
              </Badge>
            )}
          </Group>
        )}
        {editing ? (
          <Reword base={baseOf(place)} kind="messages" id={said.id} text={said.text} onDone={edit.close} />
        ) : (
          <div className={classes.text}>
            <Markdown text={said.text} />
          </div>
        )}
        {said.edited_at && (
          <Anchor
            component="button"
            type="button"
            size="xs"
            c="dimmed"
            title={format.minute(said.edited_at)}
            onClick={look.open}
          >
            {words('edited')}
          </Anchor>
        )}
        {capsules.length > 0 && (
          <CapsuleChips capsules={capsules} onOpen={(id) => go(`/dashboard/recall?capsule=${id}`)} />
        )}
        {others.length > 0 && (
          <Group gap={6}>
            {others.map((one) => (
              <Badge key={JSON.stringify(one)} variant="default" tt="none" fw={500}>
                {String(one.name ?? one.url ?? one.id ?? '…')}
              </Badge>
            ))}
          </Group>
        )}
        {taken.map((one) => (
          <Anchor
            key={one.id}
            component="button"
            type="button"
            size="xs"
            className={classes.taken}
            onClick={() => change({ panel: one.panel, show: one.id })}
          >
            <IconBookmark size={13} stroke={1.6} aria-hidden />
            <span>{words('rememberedOf', { text: one.text })}</span>
          </Anchor>
        ))}
        {said.agent && (
          <Group gap="sm">
            <Button
              variant="subtle"
              size="compact-xs"
              ml={-6}
              leftSection={<IconBulb size={14} aria-hidden />}
              onClick={() => change({ prompt: said.agent, for: said.id })}
            >
              {words('why')}
            </Button>
            {said.trace_id && <TraceLink id={said.trace_id} />}
          </Group>
        )}
      </div>
      <MessageMenu
        place={place}
        said={said}
        name={mine ? words('you') : name}
        mine={mine}
        onEdit={edit.open}
        onHistory={look.open}
      />
      <Wordings
        base={baseOf(place)}
        kind="messages"
        id={said.id}
        opened={looking}
        onClose={look.close}
        nameOfUser={person}
      />
    </div>
  )
}
