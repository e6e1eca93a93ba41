import { ActionIcon, Anchor, Button, Divider, Group, Modal, Text, Title, Tooltip } from '@mantine/core'
import { IconArrowMerge } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { CAPSULES } from '@/parts/capsules/queries'
import { plain } from '@/parts/excerpt'
import { useMerging } from '../list/select/merging'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import classes from './Related.module.css'

const SHOWN = 4
const READ = 8000 // characters of it that are compared

/** What else is about this: to read on, or to merge when it says the same. */
export function Related({ capsule }: { capsule: Schema<'CapsuleOut'> }) {
  const words = useRecallWords()
  const format = useFormat()
  const place = usePlace()
  const [other, setOther] = useState<Schema<'HitOut'> | null>(null)
  const text = `${capsule.title}\n${plain(capsule.content_md)}`.slice(0, READ)
  const found = useQuery({
    queryKey: [...CAPSULES, 'related', text],
    queryFn: () => ok(api.GET('/v1/memory/capsules/related', { params: { query: { text } } })),
  })
  const merging = useMerging(() => setOther(null))
  // The capsule itself is one of the five that come.
  const others = (found.data?.items ?? []).filter((one) => one.id !== capsule.id).slice(0, SHOWN)
  if (others.length === 0) return null
  return (
    <>
      <Divider my="lg" />
      <Title order={3} size="h5" mb="xs">
        {words('related')}
      </Title>
      <ul className={classes.list}>
        {others.map((one) => (
          <li key={one.id} className={classes.one}>
            <div className={classes.words}>
              <Anchor component={Link} to={place.with({ capsule: one.id })} c="inherit" fw={500} size="sm">
                {one.title}
              </Anchor>
              <Text size="xs" c="dimmed">
                {format.day(one.created_at)}
                {one.relevance != null &&
                  ` · ${words('relevance', { percent: format.percent(one.relevance) })}`}
              </Text>
            </div>
            <Tooltip label={words('mergeIn')}>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={words('mergeInNamed', { title: one.title })}
                onClick={() => setOther(one)}
              >
                <IconArrowMerge size={17} stroke={1.6} aria-hidden />
              </ActionIcon>
            </Tooltip>
          </li>
        ))}
      </ul>
      <Modal
        opened={other !== null}
        onClose={() => setOther(null)}
        title={words('mergeAsk')}
        centered
        withCloseButton={false}
      >
        <Text size="sm">{words('mergeText', { title: other?.title ?? '' })}</Text>
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" onClick={() => setOther(null)}>
            {words('cancel')}
          </Button>
          <Button
            loading={merging.isPending}
            onClick={() => other && merging.mutate({ ids: [other.id], into: capsule.id })}
            data-autofocus
          >
            {words('merge')}
          </Button>
        </Group>
      </Modal>
    </>
  )
}
