import { Group, Progress, Stack, Text } from '@mantine/core'

/** A bar with how much of something is used; without a limit, only the words. */
export function Meter({
  label,
  used,
  all,
  told,
  about,
}: {
  label: string
  used: number
  all: number | null
  told: string
  about?: string
}) {
  const share = all === null ? 0 : all === 0 ? 1 : Math.min(1, used / all)
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={500}>
          {label}
        </Text>
        <Text size="sm">{told}</Text>
      </Group>
      {all !== null && (
        <Progress
          value={share * 100}
          color={share >= 0.95 ? 'red' : share >= 0.8 ? 'yellow' : undefined}
          aria-label={label}
        />
      )}
      {about && (
        <Text size="xs" c="dimmed">
          {about}
        </Text>
      )}
    </Stack>
  )
}
