import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { ApiError, type Schema } from '@/api/client'
import { events } from '@/api/events'
import type { Attached } from '@/parts/chat/Related'
import type { UsedMemory } from '@/parts/chat/Used'
import {
  chatMemoriesQuery,
  chatsKey,
  type Memory,
  type Message,
  memoriesKey,
  messagesQuery,
  workspacesQuery,
} from '@/parts/chat/workspace'

export type Mode = Schema<'SayIn'>['mode']

export type Asked = {
  chat: string
  workspace: string
  content: string
  mode: Mode
  capsules: Attached[]
  without: string[]
  model: string
  insteadOf?: Message // a question of one's own, or an answer
}

/** An answer under way, or one that did not come. What has come whole is among the chat's messages. */
export type Turn = Asked & {
  phase: 'asking' | 'answering' | 'stopped' | 'failed'
  said?: string // the id of the question, once it is kept
  text: string
  error?: { code: string; message: string }
}

export type UsedInTurn = { memories: UsedMemory[]; capsules: Attached[] }

type State = {
  turns: Record<string, Turn> // by chat
  used: Record<string, UsedInTurn> // by question
  fresh: string[] // memories that were saved by themselves while one looked on
}

// Outside of React: an answer goes on being written while one looks at another chat or page.
let state: State = { turns: {}, used: {}, fresh: [] }
const listeners = new Set<() => void>()
const stops = new Map<string, AbortController>()

function change(next: Partial<State>): void {
  state = { ...state, ...next }
  for (const tell of listeners) tell()
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

export function useTurns(): State {
  return useSyncExternalStore(subscribe, () => state)
}

export function isBusy(turn: Turn | undefined): boolean {
  return turn?.phase === 'asking' || turn?.phase === 'answering'
}

export function stop(chat: string): void {
  stops.get(chat)?.abort()
}

export async function ask(client: QueryClient, asked: Asked): Promise<void> {
  const { chat, workspace } = asked
  const brokeOff = state.turns[chat] !== undefined // what was kept of it may not be among the messages yet
  const control = new AbortController()
  stops.set(chat, control)
  let done = false
  const update = (next: Partial<Turn>) => {
    const turn = state.turns[chat]
    if (turn && !done) change({ turns: { ...state.turns, [chat]: { ...turn, ...next } } })
  }
  const { insteadOf } = asked
  const keep = (message: Message) => {
    const { queryKey } = messagesQuery(chat)
    const underway = client.isFetching({ queryKey }) > 0
    client.setQueryData(queryKey, (before: Message[] = []) => {
      if (before.some((one) => one.id === message.id)) return before
      const left = insteadOf?.role === message.role ? before.findIndex((one) => one.id === insteadOf.id) : -1
      return [...(left < 0 ? before : before.slice(0, left)), message]
    })
    // What is being asked for just now may not know of it yet, and would take its place. It is only given up for a new
    // answer where there is something to show already: so this comes after.
    if (underway) void client.invalidateQueries({ queryKey, refetchType: 'all' })
  }
  const hear: Record<string, (data: never) => void> = {
    'message.created': ({ message }: { message: Message }) => {
      keep(message)
      if (brokeOff)
        void client.invalidateQueries({ queryKey: messagesQuery(chat).queryKey, refetchType: 'all' })
      update({ said: message.id })
      if (asked.capsules.length > 0) remember(message.id, { memories: [], capsules: asked.capsules })
      void client.invalidateQueries({ queryKey: chatsKey(workspace) })
    },
    'x_memory.injected': ({ memories }: { memories: UsedMemory[] }) => {
      const { said } = state.turns[chat] ?? {}
      if (said) remember(said, { memories, capsules: asked.capsules })
    },
    'message.delta': ({ delta }: { delta: string }) => {
      update({ phase: 'answering', text: (state.turns[chat]?.text ?? '') + delta })
    },
    'message.done': ({ message }: { message: Message }) => {
      keep(message)
      done = true
      const { [chat]: _, ...others } = state.turns
      change({ turns: others })
      void client.invalidateQueries({ queryKey: memoriesKey(workspace) })
      void client.invalidateQueries({ queryKey: chatMemoriesQuery(chat).queryKey })
      void client.invalidateQueries({ queryKey: chatsKey(workspace) })
      void client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
    },
    'x_memory.auto_saved': ({ memory }: { memory: Memory }) => {
      void client.invalidateQueries({ queryKey: chatMemoriesQuery(chat).queryKey })
      change({ fresh: [...state.fresh, memory.id] })
      void client.invalidateQueries({ queryKey: memoriesKey(workspace) })
      void client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
    },
    error: ({ error, message }: { error: { code: string; message: string }; message?: Message }) => {
      if (message) keep(message)
      update({ phase: 'failed', error })
      done = true
    },
  }
  change({ turns: { ...state.turns, [chat]: { ...asked, phase: 'asking', text: '' } } })
  const { mode, without } = asked
  const body = {
    content: insteadOf?.role === 'assistant' ? '' : asked.content,
    mode,
    without,
    capsule_ids: asked.capsules.map((one) => one.id),
    model: asked.model || null,
    instead_of: insteadOf?.id,
  }
  try {
    for await (const { event, data } of events(`/chat/api/${chat}/messages`, body, control.signal)) {
      hear[event]?.(JSON.parse(data) as never)
    }
    update({ phase: 'failed', error: { code: 'cut', message: '' } })
  } catch (error) {
    if (control.signal.aborted) update({ phase: 'stopped' })
    else update({ phase: 'failed', error: told(error) })
  } finally {
    if (stops.get(chat) === control) stops.delete(chat)
    // Which branches there are now, the server knows; and what it kept of an answer that was stopped.
    if (insteadOf || control.signal.aborted)
      void client.invalidateQueries({ queryKey: messagesQuery(chat).queryKey, refetchType: 'all' })
  }
}

function remember(question: string, used: UsedInTurn): void {
  change({ used: { ...state.used, [question]: used } })
}

function told(error: unknown): { code: string; message: string } {
  if (error instanceof ApiError) return { code: error.code, message: error.message }
  return { code: 'cut', message: error instanceof Error ? error.message : '' }
}
