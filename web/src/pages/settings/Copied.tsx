import { ActionIcon, CopyButton } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useFrameWords } from '@/app/frame.words'

export function Copied({ text, label }: { text: string; label?: string }) {
  const words = useFrameWords()
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <ActionIcon
          variant="default"
          size="lg"
          onClick={copy}
          aria-label={copied ? words('copied') : (label ?? words('copy'))}
          title={copied ? words('copied') : words('copy')}
        >
          {copied ? (
            <IconCheck size={18} stroke={1.6} aria-hidden />
          ) : (
            <IconCopy size={18} stroke={1.6} aria-hidden />
          )}
        </ActionIcon>
      )}
    </CopyButton>
  )
}
