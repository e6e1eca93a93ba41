import { onlineManager } from '@tanstack/react-query'
import i18next from 'i18next'

/** Nobody answered: the server is down or the way to it is. TanStack Query waits meanwhile, and goes on when it is back. */
export class Unreachable extends Error {
  constructor() {
    super(i18next.t('frame:unreachable'))
  }
}

const PAUSES = [1000, 2000, 3000, 5000] // milliseconds; the last one again and again
let tries = 0
let waiting: number | undefined

/** To be called when a request got no answer. Asks until somebody answers. */
export function lost(): Unreachable {
  if (waiting === undefined) {
    tries = 0
    onlineManager.setOnline(false)
    later()
  }
  return new Unreachable()
}

/** Asks at once, instead of when it is time. */
export function askNow(): void {
  window.clearTimeout(waiting)
  void ask()
}

function later(): void {
  waiting = window.setTimeout(ask, PAUSES[Math.min(tries, PAUSES.length - 1)])
  tries += 1
}

async function ask(): Promise<void> {
  const answered = await fetch('/healthz', { cache: 'no-store' }).then(
    (answer) => answer.ok,
    () => false,
  )
  if (!answered) return later()
  waiting = undefined
  onlineManager.setOnline(true)
}
