import { IconBulb, IconFlag, IconMessageCircleCheck, IconNote } from '@tabler/icons-react'

const ICONS = { decision: IconFlag, thought: IconBulb, answer: IconMessageCircleCheck } as const

export function KindIcon({ kind, size = 16 }: { kind: string; size?: number }) {
  const Icon = ICONS[kind as keyof typeof ICONS] ?? IconNote
  return <Icon size={size} stroke={1.6} aria-hidden />
}
