import { Button, Menu, Text } from '@mantine/core'
import { IconBulb, IconCheck, IconChevronDown, IconListSearch, IconMessage } from '@tabler/icons-react'
import { usePlaygroundWords } from './playground.words'
import type { Mode } from './turns'

const MODES = [
  { mode: 'chat', icon: IconMessage },
  { mode: 'deep_think', icon: IconBulb },
  { mode: 'research', icon: IconListSearch },
] as const

export function ModeSelect({ mode, onChange }: { mode: Mode; onChange: (mode: Mode) => void }) {
  const words = usePlaygroundWords()
  const Chosen = MODES.find((one) => one.mode === mode)?.icon ?? IconMessage
  return (
    <Menu position="top-start" width={260}>
      <Menu.Target>
        <Button
          variant={mode === 'chat' ? 'subtle' : 'light'}
          color={mode === 'chat' ? 'gray' : undefined}
          size="compact-sm"
          leftSection={<Chosen size={15} stroke={1.6} aria-hidden />}
          rightSection={<IconChevronDown size={13} stroke={1.8} aria-hidden />}
          aria-label={`${words('mode')}: ${words(`mode_${mode}`)}`}
        >
          {words(`mode_${mode}`)}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {MODES.map(({ mode: one, icon: Icon }) => (
          <Menu.Item
            key={one}
            leftSection={<Icon size={16} stroke={1.6} aria-hidden />}
            rightSection={one === mode ? <IconCheck size={14} aria-hidden /> : undefined}
            onClick={() => onChange(one)}
          >
            <Text size="sm">{words(`mode_${one}`)}</Text>
            <Text size="xs" c="dimmed">
              {words(`hint_${one}`)}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
