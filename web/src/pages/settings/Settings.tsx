import { Button, NavLink, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import {
  IconChartBar,
  IconChevronLeft,
  IconFileImport,
  IconHistory,
  IconKey,
  IconPlug,
  IconSparkles,
  IconUser,
  IconUsers,
} from '@tabler/icons-react'
import { Link, Navigate, NavLink as RouterLink, useLocation } from 'react-router'
import type { Schema } from '@/api/client'
import { useFrameWords } from '@/app/frame.words'
import { useMe } from '@/app/session'
import { Page } from '@/parts/Page'
import { Skeletons } from '@/parts/Skeletons'
import { Audit } from './audit/Audit'
import { Import } from './import/Import'
import { Keys } from './Keys'
import { Mcp } from './Mcp'
import { Profile } from './Profile'
import { Account } from './people/Account'
import { Models } from './providers/Models'
import classes from './Settings.module.css'
import { useSettingsWords } from './settings.words'
import { Usage } from './Usage'

const HERE = '/dashboard/settings'
const ICON = { size: 18, stroke: 1.6, 'aria-hidden': true } as const
const GROUPS = [
  {
    name: 'groupYou',
    places: [
      { name: 'profile', icon: IconUser },
      { name: 'keys', icon: IconKey },
      { name: 'mcp', icon: IconPlug },
      { name: 'usage', icon: IconChartBar },
    ],
  },
  {
    name: 'groupServer',
    places: [
      { name: 'models', icon: IconSparkles },
      { name: 'people', icon: IconUsers },
    ],
  },
  {
    name: 'groupData',
    places: [
      { name: 'import', icon: IconFileImport },
      { name: 'audit', icon: IconHistory },
    ],
  },
] as const
type Place = (typeof GROUPS)[number]['places'][number]['name']

// Where these were before: links to them lie in notes and mails.
const FORMER: Record<string, Place> = { account: 'people', data: 'import' }

/** What can be set, by sections with an address each; on a phone a list of them, and one at a time. */
export default function Settings() {
  const frame = useFrameWords()
  const words = useSettingsWords()
  const me = useMe()
  const narrow = useMediaQuery('(max-width: 48em)', undefined, { getInitialValueInEffect: false })
  const at = useLocation().pathname.split('/')[3] ?? ''
  const owner = me?.user?.role === 'owner'
  const groups = GROUPS.map(({ name, places }) => ({
    name,
    places: places.filter((place) => place.name !== 'people' || owner),
  }))
  const known = groups.flatMap(({ places }) => places.map((place) => place.name as string))
  const here = known.includes(at) ? (at as Place) : undefined
  return (
    <Page title={frame('settings')} about={here ? words(`${here}Says`) : words('about')}>
      <div className={classes.frame} data-at={here}>
        <nav className={classes.nav} aria-label={words('sections')}>
          {groups.map(({ name, places }) => [
            <Text key={name} size="xs" fw={600} c="dimmed" className={classes.group}>
              {words(name)}
            </Text>,
            ...places.map(({ name: place, icon: Icon }) => (
              <NavLink
                key={place}
                component={RouterLink}
                to={`${HERE}/${place}`}
                label={words(place)}
                leftSection={<Icon {...ICON} />}
                active={place === here}
                className={classes.link}
              />
            )),
          ])}
        </nav>
        <div className={classes.content}>
          <Button
            component={Link}
            to={HERE}
            variant="subtle"
            className={classes.back}
            leftSection={<IconChevronLeft {...ICON} />}
          >
            {words('allSettings')}
          </Button>
          {me ? here && <Section at={here} me={me} /> : <Skeletons lines={3} height={180} />}
        </div>
      </div>
      {me && !here && FORMER[at] && <Navigate to={`${HERE}/${owner ? FORMER[at] : 'import'}`} replace />}
      {me && !here && !FORMER[at] && !(narrow && at === '') && <Navigate to={`${HERE}/profile`} replace />}
    </Page>
  )
}

function Section({ at, me }: { at: Place; me: Schema<'Me'> }) {
  const owner = me.user?.role === 'owner'
  switch (at) {
    case 'profile':
      return <Profile me={me} />
    case 'keys':
      return <Keys owner={owner} />
    case 'mcp':
      return <Mcp />
    case 'usage':
      return <Usage />
    case 'models':
      return <Models me={me} />
    case 'people':
      return <Account me={me} />
    case 'import':
      return <Import />
    case 'audit':
      return <Audit me={me} />
  }
}
