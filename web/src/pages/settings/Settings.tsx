import { Tabs } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { Navigate, Route, Routes, useLocation, useNavigate } from 'react-router'
import { useFrameWords } from '@/app/frame.words'
import { useMe } from '@/app/session'
import { Page } from '@/parts/Page'
import { Waiting } from '@/parts/Waiting'
import { Account } from './Account'
import { Data } from './Data'
import { Keys } from './Keys'
import { Mcp } from './Mcp'
import { Profile } from './Profile'
import classes from './Settings.module.css'
import { useSettingsWords } from './settings.words'
import { Usage } from './Usage'

const HERE = '/dashboard/settings'

export default function Settings() {
  const frame = useFrameWords()
  const words = useSettingsWords()
  const me = useMe()
  const go = useNavigate()
  const place = useLocation().pathname.split('/')[3] ?? ''
  const list = useRef<HTMLDivElement>(null)
  // On a phone the tabs don't fit: the one that is shown is brought into sight.
  useEffect(() => {
    const active = place ? list.current?.querySelector('[aria-selected=true]') : null
    active?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [me, place])
  if (!me) return <Waiting />
  const owner = me.user?.role === 'owner'
  const tabs = ['profile', 'keys', 'mcp', 'usage', ...(owner ? ['account'] : []), 'data'] as (
    | 'profile'
    | 'keys'
    | 'mcp'
    | 'usage'
    | 'account'
    | 'data'
  )[]
  return (
    <Page title={frame('settings')} about={words('about')}>
      <Tabs
        value={place}
        onChange={(next) => go(`${HERE}/${next}`)}
        keepMounted={false}
        activateTabWithKeyboard={false}
      >
        <Tabs.List className={classes.tabs} ref={list}>
          {tabs.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {words(tab)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map((tab) => (
          <Tabs.Panel key={tab} value={tab} pt="lg">
            <Routes>
              <Route path="profile" element={<Profile me={me} />} />
              <Route path="keys" element={<Keys owner={owner} />} />
              <Route path="mcp" element={<Mcp />} />
              <Route path="usage" element={<Usage />} />
              {owner && <Route path="account" element={<Account me={me} />} />}
              <Route path="data" element={<Data owner={owner} />} />
            </Routes>
          </Tabs.Panel>
        ))}
      </Tabs>
      {!tabs.some((tab) => tab === place) && <Navigate to={`${HERE}/profile`} replace />}
    </Page>
  )
}
