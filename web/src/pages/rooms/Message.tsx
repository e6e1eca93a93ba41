import { ActionIcon, Badge, Button, Group, Menu, Text } from '@mantine/core'
import { IconBookmark, IconBulb, IconDots } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useNavigate } from 'react-router'
import { useFormat, useMe } from '@/app/session'
import { useAddress } from '@/parts/address'
import { CapsuleChips } from '@/parts/capsules/CapsuleChips'
import { Markdown } from '@/parts/Markdown'
import { capsulesOf } from './capsules'
import { Face } from './Face'
import { type Place, pin, type Said, threadsQuery, useRefresh } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'

/** One message; `first`: under a name. */
export function Message({
  place,
  said,
  name,
  first,
  shown,
}: {
  place: Place
  said: Said
  name: string
  first: boolean
  shown: boolean
}) {
  const words = useRoomsWords()
  const format = useFormat()
  const me = useMe()
  const go = useNavigate()
  const refresh = useRefresh()
  const [params, change] = useAddress()
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (shown) box.current?.scrollIntoView({ block: 'center' })
  }, [shown])
  const threads = useQuery({
    ...threadsQuery(place.kind === 'room' ? place.id : ''),
    enabled: place.kind === 'room' && said.thread_id !== null,
  })
  const thread = threads.data?.items.find((one) => one.id === said.thread_id)
  const keep = useMutation({
    mutationFn: () => pin(place, said.text, []),
    onSuccess: async () => {
      await refresh()
      change({ panel: 'landmarks' })
    },
  })
  const capsules = capsulesOf(said)
  const others = said.attachments.filter((one) => one.type !== 'capsule')
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
              {said.user !== null && said.user === me?.user?.id ? words('you') : name}
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
        <div className={classes.text}>
          <Markdown text={said.text} />
        </div>
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
        {said.agent && (
          <Button
            variant="subtle"
            size="compact-xs"
            ml={-6}
            leftSection={<IconBulb size={14} aria-hidden />}
            onClick={() => change({ prompt: said.agent, for: said.id })}
          >
            {words('why')}
          </Button>
        )}
      </div>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="sm" aria-label={words('messageMenu', { name })}>
            <IconDots size={15} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconBookmark size={16} />} onClick={() => keep.mutate()}>
            {words('pinThis')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  )
}
