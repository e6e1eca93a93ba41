import { useEffect, useState } from 'react'
import { useLocation } from 'react-router'

export type Recent = { to: string; title: string }

const KEPT = 'keepstone.recent'
const MOST = 5
const NAMED = 500 // milliseconds after which a page has said what it is called

/** Places where one was last, by what the window was called there; not the one where one is. */
export function useRecent(opened: boolean): Recent[] {
  const { pathname, search } = useLocation()
  const here = pathname + search
  useEffect(() => {
    const later = setTimeout(
      () => note({ to: here, title: document.title.replace(/ · Keepstone$/, '') }),
      NAMED,
    )
    return () => clearTimeout(later)
  }, [here])
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
