import { Badge, Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { browserOf } from './browsers'
import { More } from './More'
import { Row, Rows } from './Row'
import { Section } from './Section'
import { useSafetyWords } from './safety.words'
import { useSettingsWords } from './settings.words'

export function Sessions() {
  const words = useSettingsWords()
  const safety = useSafetyWords()
  const format = useFormat()
  const client = useQueryClient()
  const found = useInfiniteQuery({
    queryKey: ['sessions'],
    queryFn: ({ pageParam: cursor }) =>
      ok(api.GET('/v1/sessions', { params: { query: { cursor, limit: 10 } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const end = useMutation({
    mutationFn: (session_id: string) =>
      ok(api.DELETE('/v1/sessions/{session_id}', { params: { path: { session_id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ['sessions'] }),
  })
  const endOthers = useMutation({
    mutationFn: () => ok(api.DELETE('/v1/sessions')),
    onSuccess: () => {
      notifications.show({ message: safety('endedOthers') })
      return client.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  const called = (session: Schema<'SessionOut'>) => {
    if (!session.user_agent) return words('sessionUnknown')
    const { browser, system } = browserOf(session.user_agent)
    return system ? words('on', { browser, system }) : browser
  }
  return (
    <Section
      title={words('sessions')}
      action={
        <Button variant="default" loading={endOthers.isPending} onClick={() => endOthers.mutate()}>
          {safety('endOthers')}
        </Button>
      }
    >
      {found.isPending && <Waiting />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && (
        <Rows label={words('sessions')}>
          {found.data.pages
            .flatMap((page) => page.items)
            .map((session) => (
              <Row
                key={session.id}
                action={
                  session.current ? (
                    <Badge variant="light">{words('sessionHere')}</Badge>
                  ) : (
                    <Button
                      size="xs"
                      variant="default"
                      loading={end.isPending && end.variables === session.id}
                      onClick={() => end.mutate(session.id)}
                    >
                      {words('sessionEnd')}
                    </Button>
                  )
                }
              >
                <Text size="sm" fw={500} title={session.user_agent ?? undefined}>
                  {called(session)}
                </Text>
                <Group gap={6}>
                  <Text size="xs" c="dimmed">
                    {[
                      session.address,
                      words('sessionMade', { at: format.minute(session.created_at) }),
                      words('sessionUsed', { at: format.minute(session.last_used_at) }),
                    ]
                      .filter(Boolean)
                      .join(' · ')}
                  </Text>
                </Group>
              </Row>
            ))}
        </Rows>
      )}
      <More of={found} />
    </Section>
  )
}
