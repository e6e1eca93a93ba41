import {
  ActionIcon,
  AppShell,
  Burger,
  Group,
  Kbd,
  Menu,
  NavLink,
  Stack,
  Text,
  UnstyledButton,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  IconAffiliate,
  IconBook2,
  IconDatabase,
  IconDeviceDesktop,
  IconLanguage,
  IconLogin2,
  IconLogout,
  IconMessage2,
  IconMessages,
  IconMoon,
  IconRoute,
  IconSearch,
  IconSettings,
  IconStack2,
  IconSun,
  IconTags,
  IconTool,
  IconTrash,
  IconUsersGroup,
  IconZoomQuestion,
} from '@tabler/icons-react'
import { Suspense } from 'react'
import { Outlet, NavLink as RouterLink, useLocation } from 'react-router'
import { Waiting } from '@/parts/Waiting'
import { Connection } from './connection'
import classes from './frame.module.css'
import { useFrameWords } from './frame.words'
import { Keys, MOD } from './keys/Keys'
import { openSearch } from './search/opened'
import { Search } from './search/Search'
import { signOut, useFirstZone, useMe, useSignedOut, useSpeak } from './session'
import { LANGUAGES } from './words'

const ICON = { size: 18, stroke: 1.6, 'aria-hidden': true } as const

const PAGES = [
  { name: 'recall', to: '/dashboard/recall', icon: IconStack2 },
  { name: 'playground', to: '/dashboard/playground', icon: IconMessage2 },
  { name: 'quorum', to: '/dashboard/quorum', icon: IconMessages },
  { name: 'rooms', to: '/dashboard/rooms', icon: IconUsersGroup },
  { name: 'graphs', to: '/dashboard/graphs', icon: IconAffiliate },
  { name: 'scopes', to: '/dashboard/scopes', icon: IconZoomQuestion },
  { name: 'memory', to: '/dashboard/memory', icon: IconDatabase },
  { name: 'traces', to: '/dashboard/traces', icon: IconRoute },
  { name: 'trash', to: '/dashboard/trash', icon: IconTrash },
  { name: 'settings', to: '/dashboard/settings', icon: IconSettings },
  { name: 'pricing', to: '/pricing', icon: IconTags },
] as const

// Pages before which the menu makes a pause: those over everything, and those about oneself.
const BEGINS: ReadonlySet<string> = new Set(['memory', 'settings'])

/** What is around every page: where one can go, search, theme, language. */
export function Frame() {
  const words = useFrameWords()
  const me = useMe()
  const nobody = useSignedOut()
  useFirstZone()
  const place = useLocation()
  // Who has no limit has nothing to buy.
  const limited = me !== undefined && me.account.plan !== 'unlimited'
  // Closed by whatever is chosen in it, not by the place that changes: a page may come late, and the menu be open again.
  const [opened, { toggle, close }] = useDisclosure()
  const pages = [
    ...PAGES.filter((page) => (page.name === 'pricing' ? nobody || limited : !nobody)),
    ...(me?.user?.is_admin ? [{ name: 'console', to: '/x_console', icon: IconTool } as const] : []),
  ]
  return (
    <AppShell
      header={{ height: { base: 56, sm: 0 }, collapsed: false }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={0}
    >
      <a href="#content" className={classes.skip}>
        {words('skip')}
      </a>
      <AppShell.Header hiddenFrom="sm" className={classes.bar}>
        <Group h="100%" px="md" justify="space-between">
          <Burger
            opened={opened}
            onClick={toggle}
            size="sm"
            aria-label={words('menu')}
            aria-expanded={opened}
          />
          <Mark />
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={words('search')}
            onClick={() => {
              close()
              openSearch()
            }}
            display={nobody ? 'none' : undefined}
          >
            <IconSearch {...ICON} />
          </ActionIcon>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" className={classes.navbar}>
        <Stack gap="xs" h="100%">
          <Group px="xs" py={6} visibleFrom="sm">
            <Mark />
          </Group>
          {!nobody && (
            <UnstyledButton className={classes.search} onClick={openSearch} visibleFrom="sm">
              <IconSearch size={16} stroke={1.6} aria-hidden />
              <Text size="sm" flex={1}>
                {words('search')}
              </Text>
              <Kbd size="xs">{MOD} K</Kbd>
            </UnstyledButton>
          )}
          <Stack gap={2} flex={1} component="nav" aria-label={words('pages')}>
            {pages.map(({ name, to, icon: Icon }) => (
              <NavLink
                key={name}
                component={RouterLink}
                to={to}
                label={words(name)}
                leftSection={<Icon {...ICON} />}
                active={place.pathname.startsWith(to)}
                onClick={close}
                className={classes.link}
                data-begins={BEGINS.has(name) || undefined}
              />
            ))}
            {nobody && (
              <NavLink
                href={`/login?next=${encodeURIComponent(place.pathname)}`}
                label={words('signIn')}
                leftSection={<IconLogin2 {...ICON} />}
                className={classes.link}
              />
            )}
          </Stack>
          <Group gap={4} justify="space-between" px={4}>
            <Text size="xs" c="dimmed" truncate flex={1} title={me?.user?.email}>
              {me?.user?.name || me?.user?.email}
            </Text>
            <Theme />
            <Speech />
            <ActionIcon
              variant="subtle"
              color="gray"
              component="a"
              href="/docs"
              aria-label={words('reference')}
              title={words('reference')}
            >
              <IconBook2 {...ICON} />
            </ActionIcon>
            {me && (
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={words('signOut')}
                title={words('signOut')}
                onClick={signOut}
              >
                <IconLogout {...ICON} />
              </ActionIcon>
            )}
          </Group>
        </Stack>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} className={classes.main}>
        <Connection />
        <Suspense fallback={<Waiting />}>
          <Outlet />
        </Suspense>
      </AppShell.Main>
      {!nobody && <Search pages={pages} />}
      <Keys />
    </AppShell>
  )
}

function Mark() {
  return (
    <Group gap={8} wrap="nowrap">
      <img src="/static/keepstone.svg" alt="" width={24} height={24} />
      <Text fw={600} size="lg" lh={1}>
        Keepstone
      </Text>
    </Group>
  )
}

function Theme() {
  const words = useFrameWords()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const Icon = { light: IconSun, dark: IconMoon, auto: IconDeviceDesktop }[colorScheme]
  return (
    <Menu position="top-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={words('theme')} title={words('theme')}>
          <Icon {...ICON} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {(['light', 'dark', 'auto'] as const).map((one) => (
          <Menu.Item key={one} onClick={() => setColorScheme(one)}>
            {words(one)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

function Speech() {
  const words = useFrameWords()
  const choose = useSpeak()
  return (
    <Menu position="top-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={words('language')} title={words('language')}>
          <IconLanguage {...ICON} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {Object.entries(LANGUAGES).map(([language, name]) => (
          <Menu.Item key={language} lang={language} onClick={() => void choose(language).catch(() => {})}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
