import { Anchor, Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { ApiError, api, ok, type Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Markdown } from '@/parts/Markdown'
import { Candidates } from './Candidates'
import { Handed } from './Handed'
import { placeLink, placeName } from './places'
import { Section } from './Section'
import { Timing } from './Timing'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'
import { Understood } from './Understood'
import { KINDS } from './useTraces'

/** One trace: what was asked, what was found and left out, what was handed on, and what came of it. */
export function TraceSheet({ id }: { id: string }) {
  const frame = useFrameWords()
  const found = useQuery({
    queryKey: ['trace', id],
    queryFn: () => ok(api.GET('/v1/traces/{trace_id}', { params: { path: { trace_id: id } } })),
    retry: false,
    staleTime: 30_000,
  })
  if (found.isPending) {
    return (
      <Stack gap="md" role="status" aria-label={frame('loading')}>
        <Skeleton height={72} />
        <Skeleton height={120} />
        <Skeleton height={240} />
      </Stack>
    )
  }
  if (found.isError) {
    const { error } = found
    return error instanceof ApiError && [404, 422].includes(error.status) ? (
      <Gone />
    ) : (
      <Failed error={error} retry={found.refetch} />
    )
  }
  return <Whole trace={found.data} />
}

function Gone() {
  const words = useTracesWords()
  return (
    <Empty
      title={words('goneTitle')}
      action={
        <Button component={Link} to="/dashboard/traces" variant="default">
          {words('back')}
        </Button>
      }
    >
      {words('gone')}
    </Empty>
  )
}

function Whole({ trace }: { trace: Schema<'TraceOut'> }) {
  const words = useTracesWords()
  const format = useFormat()
  const kind = KINDS.find((one) => one === trace.kind) ?? 'recall'
  const place = placeLink(trace.space)
  return (
    <Stack gap="lg">
      <div>
        <Group gap={8} mb={6}>
          <span className={classes.kind} data-kind={kind}>
            {words(kind)}
          </span>
          <Text size="sm" c="dimmed">
            <time dateTime={trace.at}>{format.minute(trace.at)}</time>
            {' · '}
            {trace.person ?? words('aProgram')}
            {' · '}
            {place ? (
              <Anchor component={Link} to={place} inherit>
                {placeName(trace, words)}
              </Anchor>
            ) : (
              placeName(trace, words)
            )}
          </Text>
        </Group>
        <blockquote className={classes.question} aria-label={words('question')}>
          {trace.question ?? words('questionGone')}
        </blockquote>
        <Text size="sm" c="dimmed" mt={6}>
          {words(`${kind}About`)}
        </Text>
      </div>
      <Understood trace={trace} />
      <Candidates trace={trace} />
      {trace.prompt.length > 0 && <Handed title={words('prompt')} pieces={trace.prompt} trace={trace} />}
      <Handed
        title={words(kind === 'ask' ? 'handedAnswer' : 'handed')}
        pieces={trace.handed_out}
        trace={trace}
        total={trace.tokens}
      />
      {trace.answer && (
        <Section title={words('answered')} beside={trace.answer.speaker}>
          <div className={classes.answer}>
            <Markdown text={trace.answer.text} />
          </div>
        </Section>
      )}
      <Timing trace={trace} />
      <Text size="xs" c="dimmed" component="div">
        {trace.withheld > 0 && <p>{words('withheld', { count: trace.withheld })}</p>}
        {trace.cut && <p>{words('cut')}</p>}
        <p>{words('route', { route: trace.surface })}</p>
      </Text>
    </Stack>
  )
}
