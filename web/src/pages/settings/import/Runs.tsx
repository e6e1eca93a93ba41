import { Badge, Button, Group, Progress, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { Row, Rows } from '../Row'
import { Section } from '../Section'
import { useCounts } from './counts'
import { useImportWords } from './import.words'
import { LeftOut } from './LeftOut'
import { type ImportRun, importsQuery, isOver, useRuns } from './useImports'

/** Imports on their way, with how far they are, and what became of those before. */
export function Runs() {
  const words = useImportWords()
  const found = useRuns()
  const runs = found.data?.items.filter((one) => !one.dry_run)
  return (
    <Section title={words('runs')}>
      {found.isPending && <Skeletons lines={2} height={52} />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {runs?.length === 0 && (
        <Text size="sm" c="dimmed">
          {words('runsNone')}
        </Text>
      )}
      {runs && runs.length > 0 && (
        <Rows label={words('runs')}>
          {runs.map((one) => (
            <Run key={one.id} one={one} />
          ))}
        </Rows>
      )}
    </Section>
  )
}

function Run({ one }: { one: ImportRun }) {
  const words = useImportWords()
  const format = useFormat()
  const counts = useCounts()
  const client = useQueryClient()
  const cancel = useMutation({
    mutationFn: () => ok(api.DELETE('/v1/imports/{import_id}', { params: { path: { import_id: one.id } } })),
    onSettled: () => client.invalidateQueries({ queryKey: importsQuery.queryKey }),
  })
  const over = isOver(one)
  const made = counts(one.written)
  const known = counts(one.already_there)
  return (
    <Row
      action={
        over ? (
          <Badge variant="default">{words(`state_${one.state}`)}</Badge>
        ) : (
          <Button size="xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            {words('cancel')}
          </Button>
        )
      }
    >
      <Group gap="xs">
        <Text size="sm" fw={500} truncate maw="100%">
          {words(`source_${one.source as 'chatgpt'}`)} · {one.name}
        </Text>
      </Group>
      <Text size="xs" c="dimmed">
        {format.minute(one.created_at)}
        {!over && ` · ${words(`state_${one.state}`)}`}
      </Text>
      {!over && (
        <Progress
          mt={6}
          animated
          value={one.total_bytes > 0 ? (100 * one.read_bytes) / one.total_bytes : 2}
          aria-label={words('progress', { name: one.name })}
        />
      )}
      {(over || made.length > 0) && (
        <Text size="sm" mt={4}>
          {made.length > 0 ? words('made', { what: made.join(', ') }) : words('madeNone')}{' '}
          {known.length > 0 && words('known', { what: known.join(', ') })}
        </Text>
      )}
      {one.error && (
        <Text size="sm" c="red">
          {one.error.message}
        </Text>
      )}
      {(one.state === 'failed' || one.state === 'cancelled') && (
        <Text size="xs" c="dimmed">
          {words('stays')}
        </Text>
      )}
      {one.remarks.map((remark) => (
        <Text key={remark} size="xs" c="dimmed">
          {remark}
        </Text>
      ))}
      <LeftOut of={one} />
    </Row>
  )
}
