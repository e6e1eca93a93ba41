import { useCallback, useEffect, useRef, useState } from 'react'
import { events } from '@/api/events'
import { askedIn } from './capsules'
import { compose, type Place, type Said, say, useRefresh } from './place'

export type Answering = { agent: string; text: string }

/** An answer that was not posted: as far as it came, what it was to answer, and why; without a fault, it was stopped. */
export type Unsaid = Answering & { to: Said; fault?: Error }

type Chunk = { choices?: { delta?: { content?: string | null } }[]; error?: { message?: string } }

/** Lets an agent answer: composes its prompt, asks the model, says in the room what came. */
export function useAnswer(place: Place, thread: string | null) {
  const [answering, setAnswering] = useState<Answering>()
  const [unsaid, setUnsaid] = useState<Unsaid>()
  const stopping = useRef<AbortController>(null)
  const refresh = useRefresh()
  useEffect(() => () => stopping.current?.abort(), [])

  const answer = useCallback(
    async (agent: string, to: Said) => {
      const control = new AbortController()
      stopping.current = control
      setUnsaid(undefined)
      setAnswering({ agent, text: '' })
      let text = ''
      try {
        const { messages, trace_id } = await compose(place, agent, await askedIn(to))
        // Memory is in the prompt already: the proxy is to add nothing of its own.
        const off = { 'x-keepstone-memory': 'off' }
        const body = { messages, stream: true }
        for await (const { data } of events('/v1/chat/completions', body, control.signal, off)) {
          if (data === '[DONE]') break
          const chunk: Chunk = JSON.parse(data)
          if (chunk.error) throw new Error(chunk.error.message)
          text += chunk.choices?.[0]?.delta?.content ?? ''
          setAnswering({ agent, text })
        }
        control.signal.throwIfAborted()
        const more = { ...(thread && { thread_id: thread }), ...(trace_id && { trace_id }) }
        if (text.trim()) await say(place, { text, agent, ...more })
        await refresh()
      } catch (fault) {
        setUnsaid({ agent, text, to, ...(!control.signal.aborted && { fault: fault as Error }) })
      } finally {
        setAnswering(undefined)
      }
    },
    [place, thread, refresh],
  )
  const stop = () => stopping.current?.abort()
  const discard = () => setUnsaid(undefined)
  const retry = () => {
    if (unsaid) void answer(unsaid.agent, unsaid.to)
  }
  return { answering, unsaid, answer, stop, discard, retry }
}
