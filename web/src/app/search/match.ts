const BREAKS = /[^\p{L}\p{N}]+/u
const SHORT = 3 // letters from which on a word may also have it inside

/** How well one of these names fits what is typed: it is that, begins so, has words that begin so, has it inside. */
export function fits(typed: string, names: readonly string[]): number {
  const asked = plain(typed)
  if (!asked) return 0
  return Math.max(0, ...names.map((name) => fit(asked, plain(name))))
}

function fit(asked: string, name: string): number {
  if (name === asked) return 4
  if (name.startsWith(asked)) return 3
  const words = asked.split(' ')
  if (words.every((word) => ` ${name}`.includes(` ${word}`))) return 2
  const inside = asked.length >= SHORT || /\p{sc=Han}/u.test(asked)
  return inside && words.every((word) => name.includes(word)) ? 1 : 0
}

const plain = (text: string) => text.toLowerCase().split(BREAKS).filter(Boolean).join(' ')
