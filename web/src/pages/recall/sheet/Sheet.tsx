import { Button, Drawer, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { ApiError, api, ok } from '@/api/client'
import { CAPSULES } from '@/parts/capsules/queries'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { Editing } from './Editing'
import { History } from './History'
import { Reading } from './Reading'

/** One capsule, at the right: `?capsule=` opens it. */
export function Sheet() {
  const words = useRecallWords()
  const place = usePlace()
  const [shown, setShown] = useState(place.capsule)
  const [tab, setTab] = useState<string | null>('read')
  const [editing, setEditing] = useState(false)
  if (place.capsule && place.capsule !== shown) {
    setShown(place.capsule)
    setTab('read')
    setEditing(false)
  }
  const found = useQuery({
    queryKey: [...CAPSULES, 'one', shown],
    queryFn: ({ signal }) =>
      ok(api.GET('/v1/memory/capsules/{capsule_id}', { params: { path: { capsule_id: shown } }, signal })),
    enabled: place.capsule !== '',
  })
  const close = () => place.set({ capsule: null }, { replace: true })
  const capsule = found.data
  const gone = found.error instanceof ApiError && found.error.status === 404
  return (
    <Drawer
      opened={place.capsule !== ''}
      onClose={close}
      onExitTransitionEnd={() => setEditing(false)}
      position="right"
      size="min(680px, 100vw)"
      title={gone ? words('read') : (capsule?.title ?? words('read'))}
      closeButtonProps={{ 'aria-label': words('close') }}
      styles={{
        title: { fontWeight: 600, fontSize: 'var(--mantine-font-size-lg)', overflowWrap: 'anywhere' },
      }}
    >
      {found.isPending && <Waiting />}
      {gone && (
        <Empty
          title={words('gone')}
          action={
            <Button component={Link} to="/dashboard/recall?view=trash" variant="light">
              {words('toTrash')}
            </Button>
          }
        >
          {words('goneText')}
        </Empty>
      )}
      {found.error && !gone && !capsule && <Failed error={found.error} retry={found.refetch} />}
      {capsule &&
        !gone &&
        (editing ? (
          <Editing capsule={capsule} onDone={() => setEditing(false)} />
        ) : (
          <Tabs value={tab} onChange={setTab} keepMounted={false}>
            <Tabs.List mb="md">
              <Tabs.Tab value="read">{words('read')}</Tabs.Tab>
              <Tabs.Tab value="history">{words('history')}</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="read">
              <Reading capsule={capsule} onEdit={() => setEditing(true)} onGone={close} />
            </Tabs.Panel>
            <Tabs.Panel value="history">
              <History capsule={capsule} onRestored={() => setTab('read')} />
            </Tabs.Panel>
          </Tabs>
        ))}
    </Drawer>
  )
}
