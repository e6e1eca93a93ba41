import { Kbd, Loader } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight, useSpotlight } from '@mantine/spotlight'
import '@mantine/spotlight/styles.css'
import { IconClock, IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { useNavigate } from 'react-router'
import { api, ok } from '@/api/client'
import { type Command, type MenuPage, ranked, useCommands } from './commands'
import { searchStore } from './opened'
import { Result } from './Result'
import { useRecent } from './recent'
import classes from './Search.module.css'
import { useSearchWords } from './search.words'
import { wayTo } from './ways'

const MOST_COMMANDS = 6
const PAUSE = 150 // milliseconds of a hand that types

/** ⌘K, everywhere: pages and what can be done first, then all that one keeps or may read, by kind. */
export function Search({ pages }: { pages: readonly MenuPage[] }) {
  const words = useSearchWords()
  const go = useNavigate()
  const { opened } = useSpotlight(searchStore)
  const [asked, setAsked] = useState('')
  const typed = asked.trim()
  const [settled] = useDebouncedValue(typed, PAUSE)
  const commands = useCommands(pages)
  const recent = useRecent(opened)
  const found = useQuery({
    queryKey: ['everything', settled],
    queryFn: ({ signal }) => ok(api.GET('/v1/find', { params: { query: { q: settled, limit: 4 } }, signal })),
    enabled: opened && settled !== '' && typed !== '',
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  })
  const fitting = typed
    ? ranked(commands, typed).slice(0, MOST_COMMANDS)
    : commands.filter((one) => one.first)
  const groups = typed && found.data ? found.data.groups : []
  // What is shown may be of what was typed before: it stays, dimmed, until the new answer is there.
  const late = typed !== '' && (typed !== settled || found.isFetching)
  const nothing = typed !== '' && !late && !found.isError && fitting.length === 0 && groups.length === 0
  const shown = `${typed}/${found.dataUpdatedAt}/${groups.length}`
  useEffect(keepChosen, [shown])
  return (
    <Spotlight.Root
      store={searchStore}
      query={asked}
      onQueryChange={setAsked}
      shortcut={['mod + K']}
      tagsToIgnore={[]} // also while one writes
      maxHeight="min(560px, 70dvh)"
      size={720}
      scrollable
      centered={false} // its head stays where it is, however much is found
      yOffset="9dvh"
      attributes={{ content: { 'aria-label': words('title') } }}
    >
      <Spotlight.Search
        placeholder={words('field')}
        aria-label={words('field')}
        leftSection={<IconSearch size={18} stroke={1.6} aria-hidden />}
        rightSection={late ? <Loader size={16} aria-label={words('looking')} /> : null}
        maxLength={500}
      />
      <Spotlight.ActionsList>
        {!typed && recent.length > 0 && (
          <Results label={words('recent')}>
            {recent.map((one) => (
              <Spotlight.Action
                key={one.to}
                label={one.title}
                leftSection={<IconClock size={18} stroke={1.6} aria-hidden />}
                onClick={() => go(one.to)}
              />
            ))}
          </Results>
        )}
        {fitting.length > 0 && (
          <Results label={words(typed ? 'commands' : 'actions')}>
            {fitting.map((one) => (
              <CommandAction key={one.id} command={one} />
            ))}
          </Results>
        )}
        {groups.map((group) => (
          <Results key={group.kind} label={words(group.kind)} late={late}>
            {group.items.map((thing) => (
              <Spotlight.Action key={thing.id} onClick={() => go(wayTo(thing))}>
                <Result thing={thing} />
              </Spotlight.Action>
            ))}
          </Results>
        ))}
        {nothing && (
          <Spotlight.Empty>
            <strong>{words('nothing')}</strong>
            <br />
            {words('nothingHow')}
          </Spotlight.Empty>
        )}
        {typed && found.isError && <Spotlight.Empty>{words('failed')}</Spotlight.Empty>}
      </Spotlight.ActionsList>
      <Spotlight.Footer className={classes.footer}>
        <span role="status">{typed && found.data?.degraded && !late ? words('literal') : ''}</span>
        <span className={classes.hints} aria-hidden>
          <Kbd size="xs">↑</Kbd>
          <Kbd size="xs">↓</Kbd> {words('choose')} <Kbd size="xs">↵</Kbd> {words('open')}{' '}
          <Kbd size="xs">Esc</Kbd> {words('close')}
        </span>
      </Spotlight.Footer>
    </Spotlight.Root>
  )
}

function Results({ label, late, children }: { label: string; late?: boolean; children: ReactNode }) {
  return (
    <div role="group" aria-label={label} className={classes.group} data-late={late || undefined}>
      <div className={classes.heading} aria-hidden>
        {label}
      </div>
      {children}
    </div>
  )
}

function CommandAction({ command }: { command: Command }) {
  const { icon: Icon } = command
  return (
    <Spotlight.Action
      label={command.label}
      leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
      rightSection={command.under && <span className={classes.under}>{command.under}</span>}
      onClick={() => void command.run()}
    />
  )
}

/** What is found comes a moment after it was typed: what was chosen stays so, and if nothing was, it is the first. */
function keepChosen() {
  const { listId, selected } = searchStore.getState()
  const actions = [...(document.getElementById(listId)?.querySelectorAll('[data-action]') ?? [])]
  const chosen = selected >= 0 && selected < actions.length ? selected : actions.length > 0 ? 0 : -1
  for (const [place, action] of actions.entries()) {
    if (place === chosen) action.setAttribute('data-selected', 'true')
    else action.removeAttribute('data-selected')
  }
  searchStore.updateState((state) => ({ ...state, selected: chosen }))
}
