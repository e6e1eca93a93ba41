import { Anchor, Collapse, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconArrowUpRight, IconCheck, IconChevronDown } from '@tabler/icons-react'
import { Link } from 'react-router'
import type { Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { candidateLink } from './places'
import { Section } from './Section'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'

type Candidate = Schema<'TraceCandidateOut'>

const REASONS = ['below_floor', 'no_room', 'over_limit', 'duplicate', 'superseded'] as const
const KINDS = [
  'capsule',
  'node',
  'file',
  'artifact',
  'summary',
  'fact',
  'landmark',
  'item',
  'document',
] as const
const PARTS = ['bm25', 'meaning', 'multilingual', 'late', 'judged', 'wish'] as const

/** What was found, used or not, each with a bar for how likely it is what was meant. */
export function Candidates({ trace }: { trace: Schema<'TraceOut'> }) {
  const words = useTracesWords()
  const format = useFormat()
  const { candidates, space } = trace
  const best = Math.max(...candidates.map((one) => one.score ?? 0), 1e-9)
  const used = candidates.filter((one) => one.left_out === null)
  const left = candidates.filter((one) => one.left_out !== null)
  return (
    <Section
      title={words('found')}
      beside={
        candidates.length > 0 &&
        words('usedOf', { used: format.number(used.length), found: format.number(candidates.length) })
      }
    >
      {candidates.length === 0 && (
        <Text size="sm" c="dimmed">
          {words('foundNone')}
        </Text>
      )}
      {[used, left].map(
        (some) =>
          some.length > 0 && (
            <div key={some === used ? 'used' : 'left'}>
              <h4 className={classes.group}>{words(some === used ? 'used' : 'leftOut')}</h4>
              <ol className={classes.candidates} aria-label={words(some === used ? 'used' : 'leftOut')}>
                {some.map((one, place) => (
                  // Of a document several parts may be found.
                  <CandidateRow key={`${one.id}-${place}`} one={one} best={best} space={space} />
                ))}
              </ol>
            </div>
          ),
      )}
    </Section>
  )
}

function CandidateRow({ one, best, space }: { one: Candidate; best: number; space: string | null }) {
  const words = useTracesWords()
  const format = useFormat()
  const [opened, { toggle }] = useDisclosure()
  const link = one.text === null ? null : candidateLink(space, one)
  const kind = KINDS.find((name) => name === one.what) ?? (one.kind === 'message' ? 'said' : 'memory')
  const reason = REASONS.find((name) => name === one.left_out)
  const parts = Object.entries(one.why).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
  const most = Math.max(...parts.map(([, value]) => Math.abs(value)), 1e-9)
  const about = [words(kind), one.title ?? one.said_by, one.said_at && format.minute(one.said_at)].filter(
    Boolean,
  )
  return (
    <li className={classes.candidate} data-left={one.left_out ? true : undefined}>
      <div className={classes.candidateHead}>
        <Text size="xs" c="dimmed" component="span">
          {about.join(' · ')}
        </Text>
        {one.relevance === null ? (
          <Text size="xs" c="dimmed" component="span">
            {words(one.score === null ? 'alwaysThere' : 'notWeighed')}
          </Text>
        ) : (
          <Bar share={one.relevance} label={format.percent(one.relevance)} />
        )}
      </div>
      <p className={classes.text} data-gone={one.text === null || undefined}>
        {one.text ?? words('hidden')}
      </p>
      <div className={classes.candidateFoot}>
        <Text size="xs" component="span" c={one.left_out ? 'dimmed' : undefined}>
          {one.left_out ? (
            words(reason ?? 'gone_meanwhile')
          ) : (
            <>
              <IconCheck size={13} stroke={2} aria-hidden className={classes.check} /> {words('used')}
            </>
          )}
        </Text>
        <span className={classes.actions}>
          {parts.length > 0 && (
            <UnstyledButton className={classes.why} onClick={toggle} aria-expanded={opened}>
              {words('showParts')}
              <IconChevronDown size={13} stroke={1.8} aria-hidden data-open={opened || undefined} />
            </UnstyledButton>
          )}
          {link && (
            <Anchor component={Link} to={link} size="xs" className={classes.openLink}>
              {words('open')} <IconArrowUpRight size={13} stroke={1.8} aria-hidden />
            </Anchor>
          )}
        </span>
      </div>
      <Collapse expanded={opened}>
        <dl className={classes.parts} aria-label={words('parts')}>
          {one.score !== null && (
            <div>
              <dt>{words('score')}</dt>
              <dd>
                <Bar share={Math.max(0, one.score) / best} label={one.score.toFixed(2)} />
              </dd>
            </div>
          )}
          {parts.map(([name, value]) => {
            const known = PARTS.find((part) => part === name)
            return (
              <div key={name}>
                <dt>{known ? words(known) : name === 'found' ? words('found_part') : name}</dt>
                <dd>
                  <Bar share={Math.abs(value) / most} label={value.toFixed(2)} />
                </dd>
              </div>
            )
          })}
        </dl>
      </Collapse>
    </li>
  )
}

function Bar({ share, label }: { share: number; label: string }) {
  return (
    <span className={classes.bar}>
      <span className={classes.track} aria-hidden>
        <span style={{ width: `${Math.min(Math.max(share, 0.02), 1) * 100}%` }} />
      </span>
      <span className={classes.number}>{label}</span>
    </span>
  )
}
