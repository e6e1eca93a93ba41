import { ActionIcon, Drawer, Group, Title } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconX } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { useFrameWords } from '@/app/frame.words'
import classes from './Aside.module.css'

const BESIDE = '(min-width: 75em)'

/**
 * One thing, read beside the list it stands in, as `aside` of a `Page`; on a narrow window it comes over it.
 *
 * Escape closes it, and the focus goes into it when it opens and back when it closes, in both forms.
 */
export function Aside({
  opened,
  onClose,
  title,
  actions,
  children,
}: {
  opened: boolean
  onClose: () => void
  title: string
  actions?: ReactNode
  children: ReactNode
}) {
  const beside = useMediaQuery(BESIDE, undefined, { getInitialValueInEffect: false })
  if (beside)
    return opened ? (
      <Beside onClose={onClose} title={title} actions={actions}>
        {children}
      </Beside>
    ) : null
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      position="right"
      size="min(680px, 100vw)"
      title={
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <span>{title}</span>
          {actions && (
            <Group gap={4} wrap="nowrap">
              {actions}
            </Group>
          )}
        </Group>
      }
      styles={{ title: { flex: 1 } }}
    >
      {children}
    </Drawer>
  )
}

function Beside({
  onClose,
  title,
  actions,
  children,
}: {
  onClose: () => void
  title: string
  actions: ReactNode
  children: ReactNode
}) {
  const words = useFrameWords()
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement
    box.current?.focus({ preventScroll: true })
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
    }
  }, [])
  return (
    <section
      ref={box}
      role="dialog"
      aria-label={title}
      tabIndex={-1}
      className={classes.beside}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) onClose()
      }}
    >
      <header className={classes.head}>
        <Title order={2} size="h4" className={classes.title}>
          {title}
        </Title>
        <Group gap={4} wrap="nowrap">
          {actions}
          <ActionIcon variant="subtle" color="gray" aria-label={words('close')} onClick={onClose}>
            <IconX size={18} stroke={1.6} aria-hidden />
          </ActionIcon>
        </Group>
      </header>
      <div className={classes.body}>{children}</div>
    </section>
  )
}
