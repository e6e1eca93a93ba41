import { Anchor } from '@mantine/core'
import ReactMarkdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { Code } from './Code'

const COMPONENTS: Components = {
  pre: ({ children }) => <Code>{children}</Code>,
  a: ({ href, children }) => (
    <Anchor href={href} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </Anchor>
  ),
  // A picture elsewhere would tell its host who reads this: its address is shown instead.
  img: ({ src, alt }) => (
    <Anchor
      href={typeof src === 'string' ? src : undefined}
      target="_blank"
      rel="noreferrer noopener nofollow"
    >
      {alt || src}
    </Anchor>
  ),
}

export default function Rendered({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={[remarkGfm]} components={COMPONENTS} skipHtml>
      {text}
    </ReactMarkdown>
  )
}
