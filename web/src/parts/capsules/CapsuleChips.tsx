import { CloseButton, UnstyledButton } from '@mantine/core'
import { IconStack2 } from '@tabler/icons-react'
import classes from './CapsuleChips.module.css'
import { useCapsuleWords } from './capsules.words'

/** Capsules by their titles, in a row. */
export function CapsuleChips({
  capsules,
  onRemove,
  onOpen,
}: {
  capsules: readonly { id: string; title: string }[]
  onRemove?: (id: string) => void
  onOpen?: (id: string) => void
}) {
  const words = useCapsuleWords()
  if (capsules.length === 0) return null
  return (
    <ul className={classes.row} aria-label={words('attached')}>
      {capsules.map(({ id, title }) => (
        <li key={id} className={classes.chip} data-open={onOpen ? true : undefined}>
          <IconStack2 size={14} stroke={1.6} aria-hidden className={classes.icon} />
          {onOpen ? (
            <UnstyledButton className={classes.title} title={title} onClick={() => onOpen(id)}>
              {title}
            </UnstyledButton>
          ) : (
            <span className={classes.title} title={title}>
              {title}
            </span>
          )}
          {onRemove && (
            <CloseButton
              size="xs"
              radius="xl"
              aria-label={words('remove', { title })}
              onClick={() => onRemove(id)}
            />
          )}
        </li>
      ))}
    </ul>
  )
}
