import { Button, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link } from 'react-router'
import { ApiError, api, ok } from '@/api/client'
import { Aside } from '@/parts/Aside'
import { CAPSULES } from '@/parts/capsules/queries'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { Editing } from './Editing'
import { History } from './History'
import { Neighbours } from './Neighbours'
import { Reading } from './Reading'

/** One capsule, beside the list: `?capsule=` opens it. */
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
  if (!place.capsule && editing) setEditing(false)
  const found = useQuery({
    queryKey: [...CAPSULES, 'one', shown],
    queryFn: ({ signal }) =>
      ok(api.GET('/v1/memory/capsules/{capsule_id}', { params: { path: { capsule_id: shown } }, signal })),
    enabled: place.capsule !== '',
  })
  const close = () => place.set({ capsule: null }, { replace: true })
  const capsule = found.data
  const gone = found.error instanceof ApiError && found.error.status === 404
  // It was there and was deleted meanwhile, elsewhere: nothing is left to read.
  const lost = gone && capsule !== undefined
  const { set } = place
  useEffect(() => {
    if (lost) set({ capsule: null }, { replace: true })
  }, [lost, set])
  return (
    <Aside
      opened={place.capsule !== ''}
      onClose={close}
      title={gone ? words('read') : (capsule?.title ?? words('read'))}
      actions={!editing && <Neighbours />}
    >
      {found.isPending && <Skeletons lines={5} height={28} />}
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
    </Aside>
  )
}
