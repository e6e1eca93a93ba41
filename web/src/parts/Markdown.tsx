import { Typography } from '@mantine/core'
import { lazy, Suspense } from 'react'

const Rendered = lazy(() => import('./markdown/Rendered'))

/** Markdown as somebody wrote it: no HTML of theirs is let through, no image is fetched from elsewhere. */
export function Markdown({ text }: { text: string }) {
  return (
    <Typography>
      <Suspense fallback={<p style={{ whiteSpace: 'pre-wrap' }}>{text}</p>}>
        <Rendered text={text} />
      </Suspense>
    </Typography>
  )
}
