import { Anchor, Button, Group, Select, Text, Title } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import i18next from 'i18next'
import { useMemo, useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { More } from '../More'
import { Section } from '../Section'
import classes from './Audit.module.css'
import { useAuditWords } from './audit.words'
import { gathered, sentence, type Told } from './sentences'

const KINDS = [
  'capsule', 'memory', 'message', 'node', 'fact', 'chat', 'workspace', 'project', 'room', 'graph', 'agent',
  'session', 'totp', 'key', 'user', 'invite', 'import', 'provider',
] as const // biome-ignore format: a row of names
const DAYS = { day: 1, week: 7, month: 30 } as const
type Period = keyof typeof DAYS

/** Who did what, as sentences by day; filtered by person, kind and time. */
export function Audit({ me }: { me: Schema<'Me'> }) {
  const words = useAuditWords()
  const frame = useFrameWords()
  const format = useFormat()
  const [asked, ask] = useAddress()
  const owner = me.user?.role === 'owner'
  const person = asked.get('person') ?? ''
  const kind = KINDS.find((one) => one === asked.get('kind')) ?? ''
  const period = (asked.get('time') ?? '') as Period | ''
  // Of the moment of choosing: with every look another, it would be another question each time.
  const from = useMemo(
    () =>
      period in DAYS ? new Date(Date.now() - DAYS[period as Period] * 86_400_000).toISOString() : undefined,
    [period],
  )
  const wanted = { user_id: person || undefined, action: kind || undefined, from }
  const found = useInfiniteQuery({
    queryKey: ['audit', wanted],
    queryFn: ({ pageParam: cursor }) =>
      ok(api.GET('/v1/audit', { params: { query: { ...wanted, cursor, limit: 50 } } })),
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: 0,
  })
  const people = useQuery({
    queryKey: ['people', 'names'],
    queryFn: () => ok(api.GET('/v1/users', { params: { query: { limit: 200 } } })),
    enabled: owner,
  })
  const lines = found.data?.pages.flatMap((page) => page.items) ?? []
  const days = gathered(lines, (at) => format.day(at))
  const query = new URLSearchParams(
    Object.entries(wanted).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  )
  const now = Date.now()
  const called = new Map([
    [format.day(new Date(now).toISOString()), words('today')],
    [format.day(new Date(now - 86_400_000).toISOString()), words('yesterday')],
  ])
  return (
    <Section
      title={words('title')}
      about={owner ? words('all') : words('own')}
      action={
        <Group gap="md">
          {(['csv', 'jsonl'] as const).map((form) => (
            <Anchor
              key={form}
              size="sm"
              href={`/v1/audit/export?format=${form}&${query}`}
              download={`keepstone-audit.${form}`}
            >
              {frame('auditFile', { form: form.toUpperCase() })}
            </Anchor>
          ))}
        </Group>
      }
    >
      <div className={classes.tools}>
        {owner && (
          <Select
            label={words('person')}
            placeholder={words('everybody')}
            data={(people.data?.items ?? []).map((one) => ({ value: one.id, label: one.name || one.email }))}
            value={person || null}
            onChange={(next) => ask({ person: next }, { replace: true })}
            clearable
            searchable
          />
        )}
        <Select
          label={words('kind')}
          placeholder={words('everything')}
          data={KINDS.map((value) => ({ value, label: words(`kind_${value}`) }))}
          value={kind || null}
          onChange={(next) => ask({ kind: next }, { replace: true })}
          clearable
          searchable
        />
        <Select
          label={words('time')}
          placeholder={words('always')}
          data={(['day', 'week', 'month'] as const).map((value) => ({ value, label: words(value) }))}
          value={period || null}
          onChange={(next) => ask({ time: next }, { replace: true })}
          clearable
        />
      </div>
      {found.isPending && <Skeletons lines={8} height={38} />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && lines.length === 0 && <Empty title={words('none')}>{words('noneHow')}</Empty>}
      {days.map(({ day, told }) => (
        <section key={day} aria-label={called.get(day) ?? day}>
          <Title order={3} size="h6" c="dimmed" className={classes.day}>
            {called.get(day) ?? day}
          </Title>
          <ul className={classes.lines}>
            {told.map((one) => (
              <Sentence key={one.first.id} told={one} />
            ))}
          </ul>
        </section>
      ))}
      <More of={found} />
    </Section>
  )
}

const has = (key: string) => i18next.exists(key, { ns: 'audit', lng: 'zh' })

function Sentence({ told }: { told: Told }) {
  const words = useAuditWords()
  const format = useFormat()
  const [open, setOpen] = useState(false)
  return (
    <>
      <li className={classes.line}>
        <Text
          size="sm"
          c="dimmed"
          component="time"
          dateTime={told.first.at}
          title={format.minute(told.first.at)}
        >
          {format.clock(told.first.at)}
        </Text>
        <Group gap="xs" wrap="wrap">
          <Text size="sm" className={classes.said}>
            {sentence(words, has, told)}
          </Text>
          {told.lines.length > 1 && (
            <Button
              size="compact-xs"
              variant="subtle"
              aria-expanded={open}
              onClick={() => setOpen((before) => !before)}
            >
              {open ? words('hide') : words('details')}
            </Button>
          )}
        </Group>
      </li>
      {open &&
        told.lines.map((line) => <Sentence key={`each ${line.id}`} told={{ first: line, lines: [line] }} />)}
    </>
  )
}
