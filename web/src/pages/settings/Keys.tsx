import { Badge, Button, Group, Switch, Text } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Confirm } from './Confirm'
import { More } from './More'
import { NewKey } from './NewKey'
import { Row, Rows } from './Row'
import { Section } from './Section'
import { useSafetyWords } from './safety.words'
import { useSettingsWords } from './settings.words'

type Key = Schema<'KeyOut'>

export function Keys({ owner }: { owner: boolean }) {
  const words = useSettingsWords()
  const client = useQueryClient()
  const [asked, ask] = useSearchParams()
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Key>()
  const found = useInfiniteQuery({
    queryKey: ['keys'],
    queryFn: ({ pageParam: cursor }) => ok(api.GET('/v1/keys', { params: { query: { cursor } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const revoke = useMutation({
    mutationFn: (key_id: string) => ok(api.DELETE('/v1/keys/{key_id}', { params: { path: { key_id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ['keys'] }),
    onSettled: () => setRevoking(undefined),
  })
  const all = found.data?.pages.flatMap((page) => page.items) ?? []
  const good = all.filter((key) => !isOver(key))
  const past = asked.has('all')
  const shown = past ? all : good
  return (
    <>
      <Section
        title={words('keys')}
        about={words('keysAbout')}
        action={<Button onClick={() => setMaking(true)}>{words('keyNew')}</Button>}
      >
        {found.isPending && <Waiting />}
        {found.isError && <Failed error={found.error} retry={found.refetch} />}
        {found.data && shown.length === 0 && <Empty title={words('keyNone')}>{words('keyNoneHow')}</Empty>}
        {shown.length > 0 && (
          <Rows label={words('keys')}>
            {shown.map((key) => (
              <KeyRow key={key.id} one={key} revoke={() => setRevoking(key)} />
            ))}
          </Rows>
        )}
        <More of={found} />
        {all.length > good.length && (
          <Switch
            mt="md"
            size="sm"
            label={words('keyShowRevoked')}
            checked={past}
            onChange={(event) => ask(event.currentTarget.checked ? { all: '' } : {}, { replace: true })}
          />
        )}
      </Section>
      <NewKey opened={making} onClose={() => setMaking(false)} owner={owner} />
      <Confirm
        opened={revoking !== undefined}
        title={words('keyRevokeSure', { name: revoking?.name ?? '' })}
        label={words('keyRevoke')}
        busy={revoke.isPending}
        onConfirm={() => revoking && revoke.mutate(revoking.id)}
        onClose={() => setRevoking(undefined)}
      >
        {words('keyRevokeHow')}
      </Confirm>
    </>
  )
}

function isOver(key: Key): boolean {
  return key.revoked_at !== null || (key.expires_at !== null && new Date(key.expires_at) < new Date())
}

function KeyRow({ one, revoke }: { one: Key; revoke: () => void }) {
  const words = useSettingsWords()
  const safety = useSafetyWords()
  const format = useFormat()
  const over = isOver(one)
  return (
    <Row
      action={
        over ? (
          <Badge variant="default">{one.revoked_at ? words('keyRevoked') : words('keyExpired')}</Badge>
        ) : (
          <Button
            size="xs"
            variant="default"
            onClick={revoke}
            aria-label={words('keyRevokeNamed', { name: one.name })}
          >
            {words('keyRevoke')}
          </Button>
        )
      }
    >
      <Group gap="xs">
        <Text size="sm" fw={500} td={over ? 'line-through' : undefined} truncate maw="100%">
          {one.name}
        </Text>
        {one.user_id === null && <Badge variant="light">{words('keyService')}</Badge>}
        {one.permission === 'read' && <Badge variant="light">{safety('readOnly')}</Badge>}
        {one.surfaces && (
          <Badge variant="default">{one.surfaces.map((surface) => safety(surface)).join(', ')}</Badge>
        )}
        {one.spaces && (
          <Badge variant="default" title={one.spaces.join(', ')}>
            {safety('places', { count: one.spaces.length })}
          </Badge>
        )}
      </Group>
      <Text size="xs" c="dimmed">
        <Text span ff="monospace" size="xs">
          ck_{one.prefix}…
        </Text>{' '}
        ·{' '}
        {[
          words('keyMade', { at: format.day(one.created_at) }),
          one.last_used_at ? words('keyUsed', { at: format.minute(one.last_used_at) }) : words('keyUnused'),
          one.expires_at && !over && words('keyUntil', { at: format.day(one.expires_at) }),
        ]
          .filter(Boolean)
          .join(' · ')}
      </Text>
    </Row>
  )
}
