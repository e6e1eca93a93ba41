import { useCapsuleWords } from './capsules.words'

const KNOWN = ['note', 'decision', 'thought', 'answer'] as const

function isKnown(kind: string): kind is (typeof KNOWN)[number] {
  return (KNOWN as readonly string[]).includes(kind)
}

/** The kinds of capsules as they are called here; a kind of one's own is called what it is. */
export function useKinds() {
  const words = useCapsuleWords()
  const label = (kind: string) => (isKnown(kind) ? words(kind) : kind)
  return {
    known: KNOWN as readonly string[],
    label,
    /** What to choose from: ours, and those that somebody has made up already. */
    offered: (own: readonly string[]) => [...new Set([...KNOWN, ...own])].map(label),
    kind: (typed: string) => KNOWN.find((kind) => label(kind) === typed.trim()) ?? typed.trim(),
  }
}
