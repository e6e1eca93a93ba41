import { ActionIcon, Tooltip } from '@mantine/core'
import type { Icon } from '@tabler/icons-react'

/** A small button with a picture and its name. */
export function Action({
  icon: Picture,
  label,
  onClick,
  busy = false,
  color = 'gray',
}: {
  icon: Icon
  label: string
  onClick: () => void
  busy?: boolean
  color?: string
}) {
  return (
    <Tooltip label={label} openDelay={400}>
      <ActionIcon
        variant="subtle"
        color={color}
        size="md"
        aria-label={label}
        onClick={onClick}
        loading={busy}
      >
        <Picture size={16} stroke={1.6} aria-hidden />
      </ActionIcon>
    </Tooltip>
  )
}
