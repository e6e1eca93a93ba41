import { Button, CopyButton, Group, Text, UnstyledButton } from '@mantine/core'
import {
  IconCheck,
  IconCopy,
  IconMessage2,
  IconMessageForward,
  IconPencil,
  IconTrash,
} from '@tabler/icons-react'
import { Link } from 'react-router'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { KindIcon } from '@/parts/capsules/KindIcon'
import { useKinds } from '@/parts/capsules/kinds'
import { Markdown } from '@/parts/Markdown'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { useDelete } from './deleting'
import classes from './Reading.module.css'
import { Related } from './Related'

const ICON = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

export function Reading({
  capsule,
  onEdit,
  onGone,
}: {
  capsule: Schema<'CapsuleOut'>
  onEdit: () => void
  onGone: () => void
}) {
  const words = useRecallWords()
  const format = useFormat()
  const kinds = useKinds()
  const place = usePlace()
  const remove = useDelete(onGone)
  const chat = capsule.source?.chat_id
  return (
    <>
      <Group gap={6} c="dimmed" className={classes.facts}>
        <KindIcon kind={capsule.kind} />
        <Text size="sm">
          {[
            kinds.label(capsule.kind),
            capsule.project?.name,
            words('keptOn', { when: format.minute(capsule.created_at) }),
            capsule.version > 1 && words('changedOn', { when: format.minute(capsule.updated_at) }),
            format.bytes(capsule.size_bytes),
          ]
            .filter(Boolean)
            .join(' · ')}
        </Text>
      </Group>
      {capsule.tags.length > 0 && (
        <Group gap={6} mt="xs">
          {capsule.tags.map((tag) => (
            <UnstyledButton
              key={tag}
              className={classes.tag}
              aria-label={words('filterBy', { tag })}
              onClick={() => place.set({ tag, capsule: null, view: null })}
            >
              #{tag}
            </UnstyledButton>
          ))}
        </Group>
      )}
      <Group gap="xs" mt="md" mb="lg">
        <Button size="xs" leftSection={<IconPencil {...ICON} />} onClick={onEdit}>
          {words('edit')}
        </Button>
        <CopyButton value={`# ${capsule.title}\n\n${capsule.content_md}\n`}>
          {({ copied, copy }) => (
            <Button
              size="xs"
              variant="default"
              leftSection={copied ? <IconCheck {...ICON} /> : <IconCopy {...ICON} />}
              onClick={copy}
            >
              <span aria-live="polite">{words(copied ? 'copied' : 'copy')}</span>
            </Button>
          )}
        </CopyButton>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconMessageForward {...ICON} />}
          component={Link}
          to={`/dashboard/playground?capsule=${capsule.id}`}
        >
          {words('useInChat')}
        </Button>
        {chat?.startsWith('chat_') && (
          <Button
            size="xs"
            variant="default"
            leftSection={<IconMessage2 {...ICON} />}
            component={Link}
            to={`/dashboard/playground/${chat}`}
          >
            {words('openChat')}
          </Button>
        )}
        <Button
          size="xs"
          variant="default"
          leftSection={<IconTrash {...ICON} />}
          loading={remove.isPending}
          onClick={() => remove.mutate(capsule)}
        >
          {words('delete')}
        </Button>
      </Group>
      <div className={classes.text}>
        <Markdown text={capsule.content_md} />
      </div>
      <Related capsule={capsule} />
    </>
  )
}
