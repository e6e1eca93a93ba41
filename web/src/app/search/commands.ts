import { useMantineColorScheme } from '@mantine/core'
import type { TablerIcon } from '@tabler/icons-react'
import { useNavigate } from 'react-router'
import { useFrameWords } from '../frame.words'
import { openHelp } from '../keys/Keys'
import { MAKE } from '../keys/keys'
import { signOut, useMe, useSpeak } from '../session'
import { ACTIONS, PAGE_NAMES } from './actions'
import { fits } from './match'
import { useSearchWords } from './search.words'

/** A page, or something to do. */
export type Command = {
  id: string
  label: string
  icon: TablerIcon
  under?: string
  first?: boolean
  also: readonly string[]
  run: () => unknown
}

export type MenuPage = { name: Parameters<ReturnType<typeof useFrameWords>>[0]; to: string; icon: TablerIcon }

/** Where one can go, in the order of the menu, and what one can do from anywhere. */
export function useCommands(pages: readonly MenuPage[]): Command[] {
  const words = useSearchWords()
  const frame = useFrameWords()
  const go = useNavigate()
  const { user } = useMe() ?? {}
  const { setColorScheme } = useMantineColorScheme()
  const speak = useSpeak()
  const calls = { help: openHelp, reference: () => location.assign('/docs'), signOut }
  const may = { owner: user?.role === 'owner', admin: user?.is_admin === true }
  const run = (does: (typeof ACTIONS)[number]['does']) => {
    if ('make' in does) return go(`/dashboard/${does.make}`, { state: MAKE })
    if ('section' in does) return go(`/dashboard/settings/${does.section}`)
    if ('theme' in does) return setColorScheme(does.theme)
    if ('speak' in does) return speak(does.speak)
    return calls[does.call]()
  }
  return [
    ...pages.map(({ name, to, icon }) => ({
      id: `page ${name}`,
      label: frame(name),
      icon,
      also: PAGE_NAMES[name] ?? [],
      run: () => go(to),
    })),
    ...ACTIONS.filter(({ does }) => !('of' in does) || may[does.of]).map(({ id, does, ...one }) => ({
      ...one,
      id,
      label: words(id),
      under: 'section' in does ? frame('settings') : undefined,
      run: () => run(does),
    })),
  ]
}

/** Those that fit what is typed, the best first; of what fits alike, in their order. */
export function ranked(commands: readonly Command[], typed: string): Command[] {
  return commands
    .map((one) => ({ one, fit: fits(typed, [one.label, ...one.also]) }))
    .filter(({ fit }) => fit > 0)
    .sort((a, b) => b.fit - a.fit)
    .map(({ one }) => one)
}
