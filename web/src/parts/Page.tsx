import { Group, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'
import classes from './Page.module.css'

/**
 * A page: its title, what can be done at its top right, its content, and at the right what `Aside` shows of one thing.
 *
 * Every page begins at the same left edge and takes the whole width. What is read in lines holds itself to a measure;
 * cards stand side by side in `classes.columns` of `Columns`. `full` gives a page the height of the window, for what
 * scrolls inside it (a conversation, a picture).
 */
export function Page({
  title,
  about,
  actions,
  aside,
  full = false,
  children,
}: {
  title: string
  about?: ReactNode
  actions?: ReactNode
  aside?: ReactNode
  full?: boolean
  children: ReactNode
}) {
  useDocumentTitle(`${title} · Keepstone`)
  return (
    <div className={classes.page} data-full={full || undefined}>
      <div className={classes.main}>
        <header className={classes.head}>
          <div className={classes.said}>
            <Title order={1} size="h2" className={classes.title}>
              {title}
            </Title>
            <Text size="sm" c="dimmed" component="div" className={classes.about}>
              {about}
            </Text>
          </div>
          {actions && <Group gap="xs">{actions}</Group>}
        </header>
        {children}
      </div>
      {aside}
    </div>
  )
}

/** Cards side by side, as many as fit. */
export function Columns({ children }: { children: ReactNode }) {
  return <div className={classes.columns}>{children}</div>
}
