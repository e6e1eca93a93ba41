import { lazy, Suspense } from 'react'
import classes from './Markdown.module.css'

const Rendered = lazy(() => import('./markdown/Rendered'))

/** Markdown as somebody wrote it: no HTML of theirs is let through, no image is fetched from elsewhere. */
export function Markdown({ text }: { text: string }) {
  return (
    <div className={classes.text}>
      <Suspense fallback={<p className={classes.raw}>{text}</p>}>
        <Rendered text={text} />
      </Suspense>
    </div>
  )
}
