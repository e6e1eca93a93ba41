import { Button, SimpleGrid, Text, Title } from '@mantine/core'
import { IconDeviceFloppy, IconMessages, IconPencil, IconPlug } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'react-router'
import { Empty } from '@/parts/Empty'
import classes from './Newcomer.module.css'
import { useRecallWords } from './recall.words'

const ICON = { size: 22, stroke: 1.5, 'aria-hidden': true } as const

/** Before the first capsule: the four ways to keep one. */
export function Newcomer({ onNew }: { onNew: () => void }) {
  const words = useRecallWords()
  const link = (to: string, label: string) => (
    <Button component={Link} to={to} variant="default" size="xs">
      {label}
    </Button>
  )
  return (
    <>
      <div className={classes.head}>
        <Empty title={words('newTitle')}>{words('newText')}</Empty>
      </div>
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="md">
        <Way icon={<IconDeviceFloppy {...ICON} />} title={words('way1')} text={words('way1Text')}>
          {link('/dashboard/playground', words('way1Go'))}
        </Way>
        <Way icon={<IconMessages {...ICON} />} title={words('way2')} text={words('way2Text')}>
          {link('/dashboard/quorum', words('way2Go'))}
        </Way>
        <Way icon={<IconPlug {...ICON} />} title={words('way3')} text={words('way3Text')}>
          {link('/dashboard/settings', words('way3Go'))}
        </Way>
        <Way icon={<IconPencil {...ICON} />} title={words('way4')} text={words('way4Text')}>
          <Button size="xs" onClick={onNew}>
            {words('add')}
          </Button>
        </Way>
      </SimpleGrid>
    </>
  )
}

function Way({
  icon,
  title,
  text,
  children,
}: {
  icon: ReactNode
  title: string
  text: string
  children: ReactNode
}) {
  return (
    <section className={classes.way}>
      <div className={classes.icon}>{icon}</div>
      <Title order={3} size="h5">
        {title}
      </Title>
      <Text size="sm" c="dimmed" flex={1}>
        {text}
      </Text>
      {children}
    </section>
  )
}
