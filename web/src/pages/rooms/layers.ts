import type { Shown } from './why'

export type Layer =
  | 'instructions'
  | 'working'
  | 'episodic'
  | 'semantic'
  | 'structured'
  | 'landmarks'
  | 'message'

/** The layers of a prompt, and the tab where what is in them can be looked at. */
export const LAYERS: Record<Layer, string | null> = {
  instructions: null,
  working: null,
  episodic: 'summaries',
  semantic: 'memories',
  structured: 'facts',
  landmarks: 'landmarks',
  message: null,
}

const TITLES = {
  landmarks: '[LANDMARKS]',
  structured: '[FACTS]',
  episodic: '[SUMMARIES]',
  semantic: '[RECALL]',
}

/** What a layer says in the prompt. The system message holds the instructions and, by their titles, four layers. */
export function textOf(layer: Layer, composed: Pick<Shown, 'messages'>): string {
  const [system, ...said] = composed.messages
  if (layer === 'message') return said.at(-1)?.content ?? ''
  if (layer === 'working') {
    return said
      .slice(0, -1)
      .map((one) => (one.role === 'assistant' ? `→ ${one.content}` : one.content))
      .join('\n')
  }
  const lines = (system?.content ?? '').split('\n')
  const starts = Object.values(TITLES).map((title) => lines.findIndex((line) => line.startsWith(title)))
  if (layer === 'instructions') {
    const first = lines.findIndex((line) => /^\[(ROOM|DIRECT MESSAGE)\] /.test(line))
    const end = [...starts.filter((one) => one > first), lines.length].sort((a, b) => a - b)[0]
    return lines.slice(0, end).join('\n').trim()
  }
  const start = lines.findIndex((line) => line.startsWith(TITLES[layer]))
  if (start < 0) return ''
  const next = [...starts.filter((one) => one > start), lines.length - 1].sort((a, b) => a - b)[0]
  return lines
    .slice(start + 1, next)
    .join('\n')
    .trim()
}
