import { Button, Checkbox, Text } from '@mantine/core'
import { IconArrowBackUp } from '@tabler/icons-react'
import { useFormat, useMe } from '@/app/session'
import { ICONS, useWhere } from '@/parts/things/things'
import { useThingWords } from '@/parts/things/things.words'
import { nameOf } from './restoring'
import classes from './Trash.module.css'
import { daysLeft, type Gone } from './trash'
import { useTrashWords } from './trash.words'

/** One thing in the trash: what and where it was, who put it here, and how long it stays. */
export function Row({
  gone,
  chosen,
  restoring,
  onToggle,
  onRestore,
}: {
  gone: Gone
  chosen: boolean
  restoring: boolean
  onToggle: () => void
  onRestore: () => void
}) {
  const words = useTrashWords()
  const things = useThingWords()
  const format = useFormat()
  const whereOf = useWhere()
  const me = useMe()?.user?.id
  const Icon = ICONS[gone.kind]
  const name = nameOf(gone) || words('nameless')
  const days = daysLeft(gone)
  const by = gone.deleted_by === me ? words('byYou') : gone.deleted_by_name
  const facts = [
    things(gone.kind),
    whereOf(gone.place),
    format.clock(gone.deleted_at),
    gone.deleted_by && (gone.deleted_by === me ? by : by && words('by', { name: by })),
  ]
  return (
    <li className={classes.row} data-row tabIndex={0} aria-label={name} data-chosen={chosen || undefined}>
      <Checkbox
        className={classes.check}
        aria-label={words('choose', { name })}
        checked={chosen}
        disabled={!gone.restorable}
        onChange={onToggle}
      />
      <Icon size={19} stroke={1.6} aria-hidden className={classes.icon} />
      <div className={classes.main}>
        <Text className={classes.name}>{name}</Text>
        <Text size="xs" c="dimmed" className={classes.facts}>
          {facts.filter(Boolean).join(' · ')}
        </Text>
      </div>
      <Text size="xs" c={days <= 3 ? 'red' : 'dimmed'} className={classes.left}>
        {days <= 1 ? words('lastDay') : words('left', { count: days })}
      </Text>
      {gone.restorable ? (
        <Button
          size="xs"
          variant="light"
          leftSection={<IconArrowBackUp size={15} stroke={1.6} aria-hidden />}
          aria-label={words('restoreNamed', { name })}
          loading={restoring}
          onClick={onRestore}
        >
          {words('restore')}
        </Button>
      ) : (
        <Text size="xs" c="dimmed">
          {words('notYours')}
        </Text>
      )}
    </li>
  )
}
