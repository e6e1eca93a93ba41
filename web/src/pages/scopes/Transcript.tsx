import { Button, Group, Loader, Text, TextInput } from '@mantine/core'
import { IconArrowBackUp, IconArrowDown } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { failed } from '@/parts/told'
import { firstSince, type Said, useTranscript } from './calls'
import { Face } from './Face'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'

const NEAR = 600 // pixels
const CLOSE = 5 * 60_000 // milliseconds between two messages of one speaker that stand under one name

/** What was said, day by day. It comes as it is read, upwards and downwards, and jumps to a message or to a day. */
export function Transcript({ scope, onAdd }: { scope: string; onAdd: () => void }) {
  const words = useScopesWords()
  const format = useFormat()
  const [params, change] = useAddress()
  const shown = params.get('message')
  // Where it begins; another place only for what is not among what is there.
  const [around, setAround] = useState(shown)
  const talk = useTranscript(scope, around)
  const messages = talk.data?.pages.flatMap((page) => page.items) ?? []
  const has = messages.some((one) => one.message_id === shown)
  const log = useRef<HTMLDivElement>(null)
  const mark = useRef<{ id: string; top: number } | null>(null)
  const settled = useRef('')
  const { isSuccess, isFetching, hasNextPage, hasPreviousPage } = talk

  const rows = () => [...(log.current?.querySelectorAll<HTMLElement>('[data-message]') ?? [])]
  const rowOf = (id: string | null) => rows().find((row) => row.dataset.message === id)
  const remember = () => {
    const box = log.current
    const all = rows()
    if (!box || !all.length) return
    let [low, high] = [0, all.length - 1]
    const top = box.getBoundingClientRect().top
    while (low < high) {
      const middle = (low + high) >> 1
      if ((all[middle] as HTMLElement).getBoundingClientRect().bottom > top) high = middle
      else low = middle + 1
    }
    const row = all[low] as HTMLElement
    mark.current = { id: row.dataset.message ?? '', top: row.getBoundingClientRect().top }
  }
  const look = () => {
    const box = log.current
    if (!box || isFetching || !isSuccess) return
    if (hasPreviousPage && box.scrollTop < NEAR) void talk.fetchPreviousPage()
    else if (hasNextPage && box.scrollHeight - box.scrollTop - box.clientHeight < NEAR)
      void talk.fetchNextPage()
  }

  useEffect(() => {
    if (shown && isSuccess && !has && !isFetching && around !== shown) setAround(shown)
  }, [shown, has, isSuccess, isFetching, around])

  const first = messages[0]?.message_id
  const last = messages.at(-1)?.message_id
  useLayoutEffect(() => {
    const box = log.current
    if (!box || !first) return
    const aim = `${scope} ${around} ${shown}`
    if (settled.current !== aim && (!shown || has)) {
      settled.current = aim
      if (shown) rowOf(shown)?.scrollIntoView({ block: 'center' })
      else box.scrollTop = box.scrollHeight
    } else if (mark.current) {
      const row = rowOf(mark.current.id)
      if (row) box.scrollTop += row.getBoundingClientRect().top - mark.current.top
    }
    remember()
  }, [first, last, shown, has])
  useEffect(look)

  const jump = useMutation({
    mutationFn: (day: string) => firstSince(scope, new Date(`${day}T00:00`).toISOString()),
    onSuccess: (id) => (id ? change({ message: id }) : toEnd()),
    onError: failed,
  })
  const toEnd = () => {
    change({ message: null }, { replace: true })
    settled.current = ''
    if (hasNextPage) setAround(null)
    else if (log.current) log.current.scrollTop = log.current.scrollHeight
  }
  const [day, setDay] = useState('')
  return (
    <section className={classes.talk} aria-label={words('conversation')}>
      <Group className={classes.tools} justify="space-between" wrap="nowrap">
        <TextInput
          type="date"
          size="xs"
          aria-label={words('toDay')}
          title={words('toDay')}
          value={day}
          onChange={(event) => {
            const { value } = event.currentTarget
            setDay(value)
            if (value) jump.mutate(value)
          }}
        />
        <Group gap="xs" wrap="nowrap">
          {isFetching && isSuccess && <Loader size={14} type="dots" />}
          <Button
            size="xs"
            variant="subtle"
            color="gray"
            leftSection={<IconArrowDown size={14} aria-hidden />}
            onClick={toEnd}
          >
            {words('toNewest')}
          </Button>
        </Group>
      </Group>
      {talk.isPending && <Skeletons lines={7} height={52} />}
      {talk.isError && <Failed error={talk.error} retry={talk.refetch} />}
      {isSuccess && messages.length === 0 && (
        <div className={classes.silent}>
          <Text c="dimmed">{words('silent')}</Text>
          <Button onClick={onAdd}>{words('addFirst')}</Button>
        </div>
      )}
      {messages.length > 0 && (
        <div
          ref={log}
          className={classes.log}
          role="log"
          aria-label={words('conversation')}
          tabIndex={0}
          onScroll={() => {
            remember()
            look()
          }}
        >
          {messages.map((one, place) => {
            const before = messages[place - 1]
            const begins = !before || format.day(before.ts) !== format.day(one.ts)
            return (
              <div key={one.message_id}>
                {begins && (
                  <div className={classes.day}>
                    <span>{format.day(one.ts)}</span>
                  </div>
                )}
                <Message
                  said={one}
                  first={begins || !follows(before, one)}
                  shown={one.message_id === shown}
                  answers={one.reply_to === null ? undefined : (named(messages, one.reply_to) ?? null)}
                  onOpen={(id) => change({ message: id })}
                />
              </div>
            )
          })}
        </div>
      )}
    </section>
  )
}

/** `answers`: what it replies to; null where that is not among what is there. */
function Message({
  said,
  first,
  shown,
  answers,
  onOpen,
}: {
  said: Said
  first: boolean
  shown: boolean
  answers: Said | null | undefined
  onOpen: (id: string) => void
}) {
  const words = useScopesWords()
  const format = useFormat()
  return (
    <div
      className={classes.message}
      data-message={said.message_id}
      data-first={first || undefined}
      aria-current={shown || undefined}
    >
      {first ? <Face name={said.speaker} /> : <span />}
      <div>
        {first && <span className={classes.speaker}>{said.speaker}</span>}
        {answers !== undefined &&
          (answers ? (
            <button type="button" className={classes.reply} onClick={() => onOpen(answers.message_id)}>
              <IconArrowBackUp size={13} stroke={1.7} aria-hidden />
              <span>{words('replyTo', { name: answers.speaker, text: answers.text.slice(0, 120) })}</span>
            </button>
          ) : (
            <span className={classes.reply}>
              <IconArrowBackUp size={13} stroke={1.7} aria-hidden />
              <span>{words('replyEarlier')}</span>
            </span>
          ))}
        <p className={classes.said}>{said.text}</p>
      </div>
      <time className={classes.clock} dateTime={said.ts} title={format.minute(said.ts)}>
        {format.clock(said.ts)}
      </time>
    </div>
  )
}

function named(messages: Said[], name: string): Said | undefined {
  return messages.find((one) => one.id === name || one.message_id === name)
}

function follows(before: Said | undefined, one: Said): boolean {
  return before?.speaker === one.speaker && Date.parse(one.ts) - Date.parse(before.ts) < CLOSE
}
