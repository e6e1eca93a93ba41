import { notifications } from '@mantine/notifications'
import { useCallback, useEffect, useRef, useState } from 'react'
import { events } from '@/api/events'
import { askedIn } from './capsules'
import { compose, type Place, type Said, say, useRefresh } from './place'

export type Answering = { agent: string; text: string }

/** An answer that could not be said in the agent's name: it is kept here, and why. */
export type Unsaid = Answering & { fault: Error }

type Chunk = { choices?: { delta?: { content?: string | null } }[]; error?: { message?: string } }

/** Lets an agent answer: composes its prompt, asks the model, says in the room what came. */
export function useAnswer(place: Place, thread: string | null) {
  const [answering, setAnswering] = useState<Answering>()
  const [unsaid, setUnsaid] = useState<Unsaid>()
  const stopping = useRef<AbortController>(null)
  const refresh = useRefresh()
  useEffect(() => () => stopping.current?.abort(), [])

  const answer = useCallback(
    async (agent: string, said: Said) => {
      const control = new AbortController()
      stopping.current = control
      setUnsaid(undefined)
      setAnswering({ agent, text: '' })
      try {
        const { messages, trace_id } = await compose(place, agent, await askedIn(said))
        let text = ''
        // Memory is in the prompt already: the proxy is to add nothing of its own.
        const off = { 'x-keepstone-memory': 'off' }
        for await (const { data } of events(
          '/v1/chat/completions',
          { messages, stream: true },
          control.signal,
          off,
        )) {
          if (data === '[DONE]') break
          const chunk: Chunk = JSON.parse(data)
          if (chunk.error) throw new Error(chunk.error.message)
          text += chunk.choices?.[0]?.delta?.content ?? ''
          setAnswering({ agent, text })
        }
        const more = { ...(thread && { thread_id: thread }), ...(trace_id && { trace_id }) }
        if (text.trim()) {
          await say(place, { text, agent, ...more }).catch((fault) => setUnsaid({ agent, text, fault }))
        }
        await refresh()
      } catch (fault) {
        if (!control.signal.aborted) {
          notifications.show({ color: 'red', message: (fault as Error).message, autoClose: 8000 })
        }
      } finally {
        setAnswering(undefined)
      }
    },
    [place, thread, refresh],
  )
  const stop = () => stopping.current?.abort()
  const discard = () => setUnsaid(undefined)
  return { answering, unsaid, answer, stop, discard }
}
