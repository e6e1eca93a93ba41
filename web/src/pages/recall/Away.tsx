import { Accordion, Button, Group, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconArrowBackUp, IconArrowLeft } from '@tabler/icons-react'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { CAPSULES, refresh } from '@/parts/capsules/queries'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Markdown } from '@/parts/Markdown'
import { Waiting } from '@/parts/Waiting'
import classes from './Away.module.css'
import { usePlace } from './place'
import { useRecallWords } from './recall.words'

const KEPT = 30 * 86_400_000 // how long the trash keeps something

/** What is in the trash, or in the cold tier, and the way back. */
export function Away({ cold }: { cold: boolean }) {
  const words = useRecallWords()
  const format = useFormat()
  const place = usePlace()
  const client = useQueryClient()
  const [opened, setOpened] = useState<string | null>(null)
  const found = useInfiniteQuery({
    queryKey: [...CAPSULES, 'away', cold],
    queryFn: ({ pageParam }) => {
      const query = { limit: 50, cursor: pageParam }
      return ok(
        cold
          ? api.GET('/v1/memory/cold', { params: { query } })
          : api.GET('/v1/memory/trash', { params: { query } }),
      )
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  })
  const back = useMutation({
    mutationFn: (capsule: Schema<'HitOut'>) => {
      const params = { path: { capsule_id: capsule.id } }
      return ok(
        cold
          ? api.POST('/v1/memory/capsules/{capsule_id}/recover', { params })
          : api.POST('/v1/memory/capsules/{capsule_id}/restore', { params }),
      )
    },
    onSuccess: async (capsule) => {
      await refresh(client)
      notifications.show({
        message: words('isBack', { title: capsule.title }),
        closeButtonProps: { 'aria-label': words('close') },
      })
    },
  })
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <section>
      <Button
        component={Link}
        to={place.with({ view: null })}
        variant="subtle"
        size="compact-sm"
        leftSection={<IconArrowLeft size={16} stroke={1.6} aria-hidden />}
        className={classes.back}
      >
        {words('backToAll')}
      </Button>
      {found.isPending && <Waiting />}
      {found.error && <Failed error={found.error} retry={found.refetch} />}
      {found.data && items.length === 0 && (
        <Empty title={words(cold ? 'coldEmpty' : 'trashEmpty')}>
          {words(cold ? 'coldEmptyText' : 'trashEmptyText')}
        </Empty>
      )}
      {items.length > 0 && (
        <>
          <Title order={2} size="h4">
            {words(cold ? 'cold' : 'trash')}
          </Title>
          <Text size="sm" c="dimmed" mb="md">
            {words(cold ? 'coldAbout' : 'trashAbout')}
          </Text>
          <Accordion
            value={opened}
            onChange={setOpened}
            order={3}
            variant="separated"
            classNames={{ item: classes.item }}
          >
            {items.map((capsule) => (
              <Accordion.Item key={capsule.id} value={capsule.id}>
                <div className={classes.row}>
                  <Accordion.Control>
                    <Text fw={500} lineClamp={2}>
                      {capsule.title}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {cold
                        ? words('coldSince', {
                            when: format.day(capsule.created_at),
                            read: format.day(capsule.accessed_at),
                          })
                        : words('goesOn', {
                            when: format.day(capsule.deleted_at ?? capsule.updated_at),
                            day: format.day(goesOn(capsule.deleted_at ?? capsule.updated_at)),
                          })}
                    </Text>
                  </Accordion.Control>
                  <Button
                    size="xs"
                    variant="light"
                    leftSection={<IconArrowBackUp size={15} stroke={1.6} aria-hidden />}
                    aria-label={words(cold ? 'recoverNamed' : 'restoreNamed', { title: capsule.title })}
                    loading={back.isPending && back.variables.id === capsule.id}
                    onClick={() => back.mutate(capsule)}
                  >
                    {words(cold ? 'recover' : 'restore')}
                  </Button>
                </div>
                <Accordion.Panel>
                  {opened === capsule.id && <Markdown text={capsule.content_md} />}
                </Accordion.Panel>
              </Accordion.Item>
            ))}
          </Accordion>
          {found.hasNextPage && (
            <Group justify="center" mt="md">
              <Button
                variant="default"
                loading={found.isFetchingNextPage}
                onClick={() => found.fetchNextPage()}
              >
                {words('showMore')}
              </Button>
            </Group>
          )}
        </>
      )}
    </section>
  )
}

function goesOn(deleted: string): string {
  return new Date(Date.parse(deleted) + KEPT).toISOString()
}
