import { ActionIcon, Checkbox, Menu, Text, Title, UnstyledButton } from '@mantine/core'
import { IconDots, IconFolder, IconTag, IconTrash } from '@tabler/icons-react'
import { memo, useMemo } from 'react'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import { KindIcon } from '@/parts/capsules/KindIcon'
import { useKinds } from '@/parts/capsules/kinds'
import rows from '@/parts/rows/row.module.css'
import { usePlace, writeTags } from '../place'
import { useRecallWords } from '../recall.words'
import { useDelete } from '../sheet/deleting'
import { Marked } from './Marked'
import { marked } from './marks'
import type { Hit } from './months'
import classes from './Row.module.css'
import { useChoosing } from './select/choosing'

const TAGS = 5
const ICON = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

/** One capsule in the list; `position` is its place in the whole of it. */
export const Row = memo(function Row({
  hit,
  position,
  ranked = false,
  first,
  last,
}: {
  hit: Hit
  position: number
  ranked?: boolean
  first: boolean
  last: boolean
}) {
  const words = useRecallWords()
  const format = useFormat()
  const kinds = useKinds()
  const place = usePlace()
  const { chosen, toggle } = useChoosing()
  const { title, text } = useMemo(() => marked(hit), [hit])
  const picked = chosen.has(hit.id)
  const relevance =
    ranked && hit.relevance != null && words('relevance', { percent: format.percent(hit.relevance) })
  return (
    <article
      className={`${rows.row} ${classes.row}`}
      aria-label={hit.title}
      data-first={first || undefined}
      data-last={last || undefined}
      data-open={place.capsule === hit.id || undefined}
      data-chosen={picked || undefined}
      data-choosing={chosen.size > 0 || undefined}
      data-found={ranked || undefined}
    >
      <span className={classes.kind} title={kinds.label(hit.kind)}>
        <span className={classes.icon}>
          <KindIcon kind={hit.kind} size={18} />
        </span>
        <Checkbox
          className={classes.check}
          aria-label={words('choose', { title: hit.title })}
          checked={picked}
          // What is held down is known of the click alone.
          onChange={() => undefined}
          onClick={(event) => void toggle(hit.id, position, event.shiftKey)}
        />
      </span>
      <div className={classes.main}>
        <Title order={ranked ? 2 : 3} className={classes.title}>
          <Link to={place.with({ capsule: hit.id })} className={rows.link} preventScrollReset data-row>
            <Marked parts={title} />
          </Link>
        </Title>
        <Text size="sm" c="dimmed" className={classes.excerpt}>
          <Marked parts={text} />
        </Text>
        <div className={classes.foot}>
          <Text size="xs" c="dimmed" component="span" className={classes.fact}>
            {kinds.label(hit.kind)}
          </Text>
          {hit.project && (
            <UnstyledButton
              className={classes.tag}
              aria-label={words('filterByProject', { name: hit.project.name })}
              onClick={() => place.set({ project: hit.project?.id })}
            >
              {hit.project.name}
            </UnstyledButton>
          )}
          <Text size="xs" c="dimmed" component="span" hiddenFrom="xs" className={classes.fact}>
            {format.day(hit.created_at)}
          </Text>
          {relevance && (
            <Text size="xs" component="span" hiddenFrom="xs" className={classes.fact}>
              {relevance}
            </Text>
          )}
          {hit.tags.slice(0, TAGS).map((tag) => (
            <UnstyledButton
              key={tag}
              className={classes.tag}
              aria-label={words('filterBy', { tag })}
              onClick={() => place.set({ tag: writeTags([...place.tags, tag]) })}
            >
              #{tag}
            </UnstyledButton>
          ))}
          {hit.tags.length > TAGS && (
            <Text size="xs" c="dimmed" component="span" title={hit.tags.slice(TAGS).join(', ')}>
              +{format.number(hit.tags.length - TAGS)}
            </Text>
          )}
        </div>
      </div>
      <div className={classes.side}>
        <Text size="xs" c="dimmed" component="time" dateTime={hit.created_at}>
          {format.day(hit.created_at)}
        </Text>
        {relevance && (
          <Text size="xs" component="span">
            {relevance}
          </Text>
        )}
      </div>
      <RowMenu hit={hit} />
    </article>
  )
})

function RowMenu({ hit }: { hit: Hit }) {
  const words = useRecallWords()
  const place = usePlace()
  const { act } = useChoosing()
  const remove = useDelete(() => {
    if (place.capsule === hit.id) place.set({ capsule: null }, { replace: true })
  })
  const ids = [hit.id]
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          className={classes.menu}
          aria-label={words('more', { title: hit.title })}
        >
          <IconDots size={18} stroke={1.6} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconTag {...ICON} />} onClick={() => act({ deed: 'tag', ids })}>
          {words('tagMany')}
        </Menu.Item>
        <Menu.Item leftSection={<IconFolder {...ICON} />} onClick={() => act({ deed: 'project', ids })}>
          {words('toProject')}
        </Menu.Item>
        <Menu.Item leftSection={<IconTrash {...ICON} />} onClick={() => remove.mutate(hit)}>
          {words('delete')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
