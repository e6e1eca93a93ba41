import { Anchor, Group, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useFrameWords } from '@/app/frame.words'

/** Above an audit trail: which actions are shown, and the same as files. `path` is where these are. */
export function AuditTools({
  path,
  action,
  onAction,
}: {
  path: string
  action: string
  onAction: (action: string) => void
}) {
  const words = useFrameWords()
  const look = useDebouncedCallback(
    (text: string) => onAction(/^[a-z_]+(\.[a-z_]+)?$/.test(text) ? text : ''),
    250,
  )
  const query = action ? `&action=${action}` : ''
  return (
    <Group justify="space-between" mb="sm">
      <TextInput
        type="search"
        aria-label={words('auditAction')}
        placeholder={words('auditAction')}
        defaultValue={action}
        onChange={(event) => look(event.currentTarget.value.trim())}
        maxLength={64}
      />
      <Group gap="md">
        {(['csv', 'jsonl'] as const).map((form) => (
          <Anchor
            key={form}
            size="sm"
            href={`${path}?format=${form}${query}`}
            download={`keepstone-audit.${form}`}
          >
            {words('auditFile', { form: form.toUpperCase() })}
          </Anchor>
        ))}
      </Group>
    </Group>
  )
}
