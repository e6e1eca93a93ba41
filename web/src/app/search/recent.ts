import { useEffect, useState } from 'react'
import { useLocation } from 'react-router'

export type Recent = { to: string; title: string }

const KEPT = 'keepstone.recent'
const MOST = 5

/** Places where one was last, by what the window was called there; not the one where one is. */
export function useRecent(opened: boolean): Recent[] {
  const { pathname, search } = useLocation()
  const here = pathname + search
  // When one leaves, the window is still called what the page was.
  useEffect(() => () => note({ to: here, title: document.title.replace(/ · Keepstone$/, '') }), [here])
  const [recent, setRecent] = useState<Recent[]>([])
  useEffect(() => {
    if (opened) setRecent(read().filter((one) => one.to !== here))
  }, [opened, here])
  return recent.slice(0, MOST)
}

function note(place: Recent) {
  const others = read().filter((one) => one.to !== place.to && one.title !== place.title)
  sessionStorage.setItem(KEPT, JSON.stringify([place, ...others].slice(0, MOST + 1)))
}

function read(): Recent[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? '[]')
  } catch {
    return []
  }
}
