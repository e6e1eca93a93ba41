import { Tabs } from '@mantine/core'
import type { Schema } from '@/api/client'
import { useAddress } from '@/parts/address'
import { Facts } from './Facts'
import { Landmarks } from './Landmarks'
import { Memories } from './Memories'
import type { Place } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import { Summaries } from './Summaries'

const TABS = ['summaries', 'landmarks', 'facts', 'memories'] as const

/** What stands for what was said: the layers beside the conversation. */
export function Remembered({ place, room }: { place: Place; room: Schema<'RoomOut'> | undefined }) {
  const words = useRoomsWords()
  const [params, change] = useAddress()
  const tab = TABS.find((one) => one === params.get('panel')) ?? 'summaries'
  return (
    <Tabs
      value={tab}
      onChange={(value) => change({ panel: value, show: null }, { replace: true })}
      keepMounted={false}
      style={{ display: 'flex', flexDirection: 'column', flex: 1, minHeight: 0 }}
    >
      <Tabs.List aria-label={words('remembered')} grow>
        {TABS.map((one) => (
          <Tabs.Tab key={one} value={one} px={8} fz="sm">
            {words(one)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="summaries" className={classes.panel}>
        <Summaries place={place} />
      </Tabs.Panel>
      <Tabs.Panel value="landmarks" className={classes.panel}>
        <Landmarks place={place} />
      </Tabs.Panel>
      <Tabs.Panel value="facts" className={classes.panel}>
        <Facts room={room} />
      </Tabs.Panel>
      <Tabs.Panel value="memories" className={classes.panel}>
        <Memories place={place} room={room} />
      </Tabs.Panel>
    </Tabs>
  )
}
