import { Text, Title, UnstyledButton } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'react-router'
import { useFormat } from '@/app/session'
import { KindIcon } from '@/parts/capsules/KindIcon'
import { useKinds } from '@/parts/capsules/kinds'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { Marked } from './Marked'
import { marked } from './marks'
import type { Hit } from './months'
import classes from './Row.module.css'

const TAGS = 5

/** One capsule in the list. */
export function Row({
  hit,
  ranked,
  first,
  last,
}: {
  hit: Hit
  ranked: boolean
  first: boolean
  last: boolean
}) {
  const words = useRecallWords()
  const format = useFormat()
  const kinds = useKinds()
  const place = usePlace()
  const { title, text } = useMemo(() => marked(hit), [hit])
  const relevance =
    ranked && hit.relevance != null && words('relevance', { percent: format.percent(hit.relevance) })
  return (
    <article
      className={classes.row}
      aria-label={hit.title}
      data-first={first || undefined}
      data-last={last || undefined}
      data-open={place.capsule === hit.id || undefined}
    >
      <span className={classes.kind} title={kinds.label(hit.kind)}>
        <KindIcon kind={hit.kind} size={18} />
      </span>
      <div className={classes.main}>
        <Title order={ranked ? 2 : 3} className={classes.title}>
          <Link to={place.with({ capsule: hit.id })} className={classes.link} preventScrollReset>
            <Marked parts={title} />
          </Link>
        </Title>
        <Text size="sm" c="dimmed" lineClamp={2} className={classes.excerpt}>
          <Marked parts={text} />
        </Text>
        <div className={classes.foot}>
          <Text size="xs" c="dimmed" component="span">
            {kinds.label(hit.kind)}
          </Text>
          <Text size="xs" c="dimmed" component="span" hiddenFrom="xs">
            {format.day(hit.created_at)}
          </Text>
          {relevance && (
            <Text size="xs" component="span" hiddenFrom="xs">
              {relevance}
            </Text>
          )}
          {hit.tags.slice(0, TAGS).map((tag) => (
            <UnstyledButton
              key={tag}
              className={classes.tag}
              aria-label={words('filterBy', { tag })}
              onClick={() => place.set({ tag })}
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
    </article>
  )
}
