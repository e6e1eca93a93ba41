import { CopyButton } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { Action } from './Action'
import { useChatWords } from './chat.words'

export function CopyAction({ text, label }: { text: string; label?: string }) {
  const words = useChatWords()
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Action
          icon={copied ? IconCheck : IconCopy}
          label={copied ? words('copied') : (label ?? words('copy'))}
          onClick={copy}
        />
      )}
    </CopyButton>
  )
}
