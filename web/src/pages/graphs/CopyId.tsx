import { Code, CopyButton, Tooltip, UnstyledButton } from '@mantine/core'
import { useGraphsWords } from './graphs.words'

/** An id that is copied by a click on it. */
export function CopyId({ id }: { id: string }) {
  const words = useGraphsWords()
  const short = id.slice(0, 14)
  return (
    <CopyButton value={id}>
      {({ copied, copy }) => (
        <Tooltip label={words(copied ? 'copied' : 'copyId')}>
          <UnstyledButton
            onClick={copy}
            aria-label={`${words(copied ? 'copied' : 'copyId')}: ${short}`}
            title={id}
          >
            <Code>{short}</Code>
          </UnstyledButton>
        </Tooltip>
      )}
    </CopyButton>
  )
}
