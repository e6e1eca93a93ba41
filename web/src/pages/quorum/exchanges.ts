import { useCallback, useEffect, useRef, useState } from 'react'
import type { Attached } from '@/parts/chat/Related'
import type { Timing, Usage } from '@/parts/chat/Spent'
import { lookedUp, type UsedMemory } from '@/parts/chat/Used'
import type { Message } from '@/parts/chat/workspace'
import { complete, type Prompt } from './complete'

/** A question and what came of it on one side. */
export type Exchange = {
  question: string
  capsules: Attached[]
  answer: string
  model?: string
  used: UsedMemory[]
  trace?: string
  timing?: Timing
  usage?: Usage
  phase: 'asking' | 'done' | 'stopped' | 'failed' | 'unanswered'
  error?: string
}

export type Asking = {
  question: string
  capsules: Attached[]
  notes: string // of the capsules, for the model
  model: string
  memory: boolean
  chat?: string
  workspace?: string
}

/** One side of a quorum: its exchanges, the last of which may be under way. */
export function usePane(before: Exchange[]) {
  const [exchanges, setExchanges] = useState(before)
  const [last, setLast] = useState<Asking>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const change = useCallback(
    (next: (now: Exchange) => Partial<Exchange>) =>
      setExchanges((all) =>
        all.map((one, place) => (place === all.length - 1 ? { ...one, ...next(one) } : one)),
      ),
    [],
  )
  const run = useCallback(
    async (asking: Asking, earlier: Exchange[]) => {
      const control = new AbortController()
      running.current = control
      setLast(asking)
      const begun: Exchange = { ...asking, answer: '', used: [], phase: 'asking', model: asking.model }
      setExchanges([...earlier, begun])
      const began = performance.now()
      let first: number | undefined
      const timing = (): Timing => {
        const now = performance.now()
        return { first_ms: (first ?? now) - began, total_ms: now - began }
      }
      try {
        for await (const piece of complete(
          { ...asking, messages: prompts(earlier, asking) },
          control.signal,
        )) {
          if ('text' in piece) {
            first ??= performance.now()
            change((now) => ({ answer: now.answer + piece.text }))
          } else if ('usage' in piece) change(() => ({ usage: piece.usage }))
          else if ('used' in piece) change(() => ({ used: piece.used }))
          else change((now) => (now.model ? {} : { model: piece.model }))
        }
        change(() => ({ phase: 'done', timing: timing() }))
      } catch (error) {
        if (control.signal.aborted) change(() => ({ phase: 'stopped', timing: timing() }))
        else change(() => ({ phase: 'failed', error: error instanceof Error ? error.message : '' }))
      }
    },
    [change],
  )
  return {
    exchanges,
    busy: exchanges.at(-1)?.phase === 'asking',
    ask: (asking: Asking) => void run(asking, exchanges),
    again: (asking: Partial<Asking>) => {
      const open = exchanges.at(-1)
      if (!open) return
      const known = last ?? { question: open.question, capsules: [], notes: '', model: '', memory: true }
      void run({ ...known, ...asking }, exchanges.slice(0, -1))
    },
    stop: () => running.current?.abort(),
  }
}

/** What the model is given: the notes first, then what was said on this side. */
function prompts(earlier: Exchange[], asking: Asking): Prompt[] {
  const said = earlier.flatMap<Prompt>((one) => [
    { role: 'user', content: one.question },
    ...(one.answer ? [{ role: 'assistant', content: one.answer } as const] : []),
  ])
  const notes: Prompt[] = asking.notes ? [{ role: 'system', content: asking.notes }] : []
  return [...notes, ...said, { role: 'user', content: asking.question }]
}

/** What is kept of a chat, as questions and their answers. */
export function exchangesOf(messages: Message[]): Exchange[] {
  const found: Exchange[] = []
  for (const one of messages) {
    const last = found.at(-1)
    if (one.role === 'user') {
      found.push({ question: one.content, capsules: [], answer: '', used: [], phase: 'unanswered' })
    } else if (last) {
      last.answer = one.content
      last.model = one.model ?? undefined
      last.used = lookedUp(one)
      last.timing = one.metadata.timing as Timing | undefined
      last.usage = one.metadata.usage as Usage | undefined
      last.trace = typeof one.metadata.trace_id === 'string' ? one.metadata.trace_id : undefined
      last.phase = one.metadata.incomplete === undefined ? 'done' : 'stopped'
    }
  }
  return found
}
