import { Button, Checkbox, Group, Select, Text, Title } from '@mantine/core'
import { IconArrowBackUp } from '@tabler/icons-react'
import { useState } from 'react'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { SearchField } from '@/parts/SearchField'
import { Skeletons } from '@/parts/Skeletons'
import { ICONS, type ThingKind } from '@/parts/things/things'
import { useThingWords } from '@/parts/things/things.words'
import { Row } from './Row'
import { useRestore } from './restoring'
import classes from './Trash.module.css'
import { byDay, MOST, useGone, useKindCounts } from './trash'
import { useTrashWords } from './trash.words'

/** All that was deleted and can be brought back, of every kind. */
export default function Trash() {
  const words = useTrashWords()
  const things = useThingWords()
  const format = useFormat()
  const [params, change] = useAddress()
  const named = params.get('kind') ?? ''
  const kind = named in ICONS ? (named as ThingKind) : undefined
  const q = params.get('q')?.slice(0, 255) || undefined
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const found = useGone(kind, q)
  const counts = useKindCounts(q)
  const restore = useRestore(() => setChosen(new Set()))
  const items = found.data?.pages.flatMap((page) => page.items)
  const kinds = counts.data?.items ?? []
  const total = kinds.reduce((before, one) => before + one.count, 0)
  const picked = (items ?? []).filter((one) => chosen.has(one.id))
  const toggle = (id: string) => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  const restorable = (items ?? []).filter((one) => one.restorable).slice(0, MOST)
  const everything = restorable.length > 0 && restorable.every((one) => chosen.has(one.id))
  const dayNamed = (day: string) => {
    if (day === format.day(new Date().toISOString())) return words('today')
    return day === format.day(new Date(Date.now() - 86_400_000).toISOString()) ? words('yesterday') : day
  }
  return (
    <Page title={words('title')} about={words('about')}>
      <div className={classes.bar} role="search">
        <SearchField
          label={words('search')}
          asked={q ?? ''}
          onAsk={(text) => change({ q: text || null }, { replace: true })}
        />
        <Select
          aria-label={words('kind')}
          placeholder={words('all', { number: format.number(total) })}
          clearable
          openOnFocus={false}
          data={kinds.map((one) => ({
            value: one.kind,
            label: words('kindCount', { kind: things(one.kind), number: format.number(one.count) }),
          }))}
          value={kind ?? null}
          onChange={(next) => change({ kind: next })}
        />
      </div>
      {found.error && !items ? (
        <Failed error={found.error} retry={found.refetch} />
      ) : !items ? (
        <Skeletons lines={6} height={72} />
      ) : items.length === 0 ? (
        kind || q ? (
          <Empty
            title={words('nothing')}
            action={
              <Button variant="light" onClick={() => change({ kind: null, q: null })}>
                {words('clear')}
              </Button>
            }
          >
            {words('nothingText')}
          </Empty>
        ) : (
          <Empty title={words('empty')}>{words('emptyText')}</Empty>
        )
      ) : (
        <section aria-label={words('list')} aria-busy={found.isPlaceholderData}>
          <Group className={classes.chosen} gap="sm">
            <Checkbox
              label={words('chooseAll')}
              checked={everything}
              indeterminate={picked.length > 0 && !everything}
              onChange={() => setChosen(everything ? new Set() : new Set(restorable.map((one) => one.id)))}
            />
            {picked.length > 0 && (
              <>
                <Text size="sm" c="dimmed">
                  {words('chosen', { count: picked.length, number: format.number(picked.length) })}
                </Text>
                <Button
                  size="compact-sm"
                  leftSection={<IconArrowBackUp size={15} stroke={1.6} aria-hidden />}
                  loading={restore.isPending}
                  onClick={() => restore.mutate(picked.slice(0, MOST))}
                >
                  {words('restore')}
                </Button>
                <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setChosen(new Set())}>
                  {words('unchoose')}
                </Button>
              </>
            )}
          </Group>
          {byDay(items, format.day).map(([day, gone]) => (
            <section key={day} aria-label={dayNamed(day)}>
              <Title order={2} size="h5" className={classes.day}>
                {dayNamed(day)}
              </Title>
              <ul className={classes.list}>
                {gone.map((one) => (
                  <Row
                    key={one.id}
                    gone={one}
                    chosen={chosen.has(one.id)}
                    onToggle={() => toggle(one.id)}
                    restoring={restore.isPending && restore.variables.some((other) => other.id === one.id)}
                    onRestore={() => restore.mutate([one])}
                  />
                ))}
              </ul>
            </section>
          ))}
          {found.hasNextPage && (
            <Group justify="center" mt="md">
              <Button
                variant="default"
                loading={found.isFetchingNextPage}
                onClick={() => found.fetchNextPage()}
              >
                {words('more')}
              </Button>
            </Group>
          )}
        </section>
      )}
    </Page>
  )
}
