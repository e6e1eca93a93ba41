import { useDisclosure } from '@mantine/hooks'
import { IconPaperclip } from '@tabler/icons-react'
import { CapsulePicker } from '@/parts/capsules/CapsulePicker'
import { Action } from './Action'
import { useChatWords } from './chat.words'
import type { Attached } from './Related'

/** The paper clip: any capsule for the next question. */
export function AttachAction({ picked, onPick }: { picked: string[]; onPick: (capsule: Attached) => void }) {
  const words = useChatWords()
  const [opened, { open, close }] = useDisclosure()
  return (
    <>
      <Action icon={IconPaperclip} label={words('attach')} onClick={open} />
      <CapsulePicker opened={opened} onClose={close} onPick={onPick} picked={picked} />
    </>
  )
}
