import { Tabs } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { Navigate, Route, Routes, useLocation, useNavigate } from 'react-router'
import { useFrameWords } from '@/app/frame.words'
import { useMe } from '@/app/session'
import { Empty } from '@/parts/Empty'
import { Page } from '@/parts/Page'
import { Waiting } from '@/parts/Waiting'
import { Audit } from './Audit'
import classes from './Console.module.css'
import { useConsoleWords } from './console.words'
import { Jobs } from './Jobs'
import { Overview } from './Overview'
import { Plans } from './Plans'
import { Query } from './Query'
import { User } from './User'
import { Users } from './Users'

const TABS = ['overview', 'users', 'plans', 'jobs', 'queries', 'audit'] as const

export default function Console() {
  const frame = useFrameWords()
  const words = useConsoleWords()
  const me = useMe()
  const go = useNavigate()
  const place = useLocation().pathname.split('/')[2] || 'overview'
  const list = useRef<HTMLDivElement>(null)
  // On a phone the tabs don't fit: the one that is shown is brought into sight.
  useEffect(() => {
    const active = place ? list.current?.querySelector('[aria-selected=true]') : null
    active?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [me, place])
  if (!me) return <Waiting />
  if (!me.user?.is_admin)
    return (
      <Page title={frame('console')}>
        <Empty title={words('refused')}>
          {words('refusedHow', { email: me.user?.email ?? 'ada@example.org' })}
        </Empty>
      </Page>
    )
  return (
    <Page title={frame('console')} about={words('about')}>
      <Tabs
        value={place}
        onChange={(next) => go(next === 'overview' ? '/x_console' : `/x_console/${next}`)}
        activateTabWithKeyboard={false}
        keepMounted={false}
      >
        <Tabs.List className={classes.tabs} ref={list}>
          {TABS.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {words(tab)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {TABS.map((tab) => (
          <Tabs.Panel key={tab} value={tab} pt="lg">
            <Routes>
              <Route index element={<Overview />} />
              <Route path="users" element={<Users />} />
              <Route path="users/:user_id" element={<User />} />
              <Route path="plans" element={<Plans />} />
              <Route path="jobs" element={<Jobs />} />
              <Route path="queries" element={<Query />} />
              <Route path="audit" element={<Audit />} />
            </Routes>
          </Tabs.Panel>
        ))}
      </Tabs>
      {!TABS.some((tab) => tab === place) && <Navigate to="/x_console" replace />}
    </Page>
  )
}
