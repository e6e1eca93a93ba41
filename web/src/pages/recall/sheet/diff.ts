export type Change = { is: 'same' | 'gone' | 'new'; text: string }

const LINES = 4_000 // compared at most; of more, what lies between the same beginning and end is another
const WORDS = 1_500 // of a hunk, likewise
const STEPS = 1_000 // differences, beyond which the two have little in common

/**
 * What is in the one text and not in the other: by lines, and where lines were changed, by words.
 *
 * Bounded: of 800 KB that are wholly another, the lines between what both begin and end with are one change.
 */
export function diff(before: string, after: string): Change[] {
  const rows = compare(lines(before), lines(after), LINES)
  const changes: Change[] = []
  for (let at = 0; at < rows.length; at++) {
    const [one, other] = [rows[at], rows[at + 1]]
    if (one?.is === 'gone' && other?.is === 'new') {
      changes.push(...compare(words(one.text), words(other.text), WORDS))
      at++
    } else if (one) changes.push(one)
  }
  return joined(changes)
}

function lines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? []
}

/** Words and what stands between them; of scripts without spaces each letter. */
function words(text: string): string[] {
  return text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}_]+|\s+|./gsu) ?? []
}

function compare(before: string[], after: string[], most: number): Change[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end++
  const [was, is] = [before.slice(start, before.length - end), after.slice(start, after.length - end)]
  const between = (was.length + is.length <= most && shortest(was, is)) || [
    { is: 'gone' as const, text: was.join('') },
    { is: 'new' as const, text: is.join('') },
  ]
  return joined([
    { is: 'same', text: before.slice(0, start).join('') },
    ...between,
    { is: 'same', text: before.slice(before.length - end).join('') },
  ])
}

/** The fewest changes that make the one of the other (Myers); null when they are too many. */
function shortest(was: readonly string[], is: readonly string[]): Change[] | null {
  const most = Math.min(was.length + is.length, STEPS)
  const furthest = new Map<number, number>([[1, 0]])
  const trail: Map<number, number>[] = []
  for (let steps = 0; steps <= most; steps++) {
    trail.push(new Map(furthest))
    for (let lane = -steps; lane <= steps; lane += 2) {
      const [left, right] = [furthest.get(lane - 1) ?? -1, furthest.get(lane + 1) ?? -1]
      let x = lane === -steps || (lane !== steps && left < right) ? right : left + 1
      while (x < was.length && x - lane < is.length && was[x] === is[x - lane]) x++
      furthest.set(lane, x)
      if (x >= was.length && x - lane >= is.length) return walked(trail, was, is)
    }
  }
  return null
}

function walked(
  trail: readonly Map<number, number>[],
  was: readonly string[],
  is: readonly string[],
): Change[] {
  const back: Change[] = []
  let [x, y] = [was.length, is.length]
  for (let steps = trail.length - 1; steps >= 0; steps--) {
    const known = trail[steps] as Map<number, number>
    const lane = x - y
    const [left, right] = [known.get(lane - 1) ?? -1, known.get(lane + 1) ?? -1]
    const from = lane === -steps || (lane !== steps && left < right) ? lane + 1 : lane - 1
    const fromX = steps === 0 ? 0 : (known.get(from) ?? 0)
    const fromY = steps === 0 ? 0 : fromX - from
    while (x > fromX && y > fromY) {
      back.push({ is: 'same', text: was[--x] ?? '' })
      y--
    }
    if (x > fromX) back.push({ is: 'gone', text: was[--x] ?? '' })
    else if (y > fromY) back.push({ is: 'new', text: is[--y] ?? '' })
  }
  return back.reverse()
}

/** Neighbours of a kind together; of a change, what is gone before what is new. */
function joined(changes: readonly Change[]): Change[] {
  const made: Change[] = []
  let [gone, fresh] = ['', '']
  const settle = () => {
    if (gone) made.push({ is: 'gone', text: gone })
    if (fresh) made.push({ is: 'new', text: fresh })
    gone = ''
    fresh = ''
  }
  for (const one of changes) {
    if (one.is === 'gone') gone += one.text
    else if (one.is === 'new') fresh += one.text
    else if (one.text) {
      settle()
      const last = made.at(-1)
      if (last?.is === 'same') last.text += one.text
      else made.push({ ...one })
    }
  }
  settle()
  return made
}
