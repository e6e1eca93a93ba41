import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Schema } from '@/api/client'
import { useAddress } from '@/parts/address'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { Head } from './Head'
import { Messages } from './Messages'
import { PromptSheet } from './PromptSheet'
import { messagesQuery, type Place, type Said } from './place'
import classes from './Rooms.module.css'
import { useAnswer } from './useAnswer'
import { Write } from './Write'

/** One conversation: who is in it, what was said, and saying something. */
export function Talk({
  place,
  room,
  agent,
  agents,
  onBack,
  onPanel,
}: {
  place: Place
  room: Schema<'RoomOut'> | undefined
  agent: Schema<'AgentOut'> | undefined
  agents: Schema<'AgentOut'>[]
  onBack?: () => void
  onPanel: () => void
}) {
  const [params, change] = useAddress()
  const thread = params.get('thread')
  const here = useMemo(() => place, [JSON.stringify(place)])
  const found = useInfiniteQuery(messagesQuery(here, thread))
  const messages = useMemo(
    () => (found.data?.pages.flatMap((page) => page.items) ?? []).toReversed(),
    [found.data],
  )
  const { answering, unsaid, answer, stop, discard, retry } = useAnswer(here, thread)
  const unread: string | null = null
  const within = room ? agents.filter((one) => room.agents.includes(one.slug)) : agent ? [agent] : []
  const asking = params.get('prompt')
  const asked = askedFor(messages, params.get('for'), asking)
  const answered = messages.find((one) => one.id === params.get('for'))
  return (
    <section className={classes.card} aria-label={room?.name ?? agent?.name}>
      <Head
        place={here}
        room={room}
        agent={agent}
        agents={agents}
        thread={thread}
        onBack={onBack}
        onPanel={onPanel}
      />
      {found.isPending && (
        <div className={classes.waiting}>
          <Skeletons lines={7} height={52} />
        </div>
      )}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && (
        <Messages
          place={here}
          messages={messages}
          answering={answering}
          unsaid={unsaid}
          onDiscard={discard}
          agents={agents}
          onRetry={retry}
          unread={unread}
          more={found.hasNextPage}
          loading={found.isFetchingNextPage}
          onMore={found.fetchNextPage}
        />
      )}
      <Write
        place={here}
        agents={within}
        thread={thread}
        last={messages.at(-1)}
        answering={answering}
        onAnswer={(slug, to) => void answer(slug, to)}
        onStop={stop}
        onSaid={() => change({ show: null }, { replace: true })}
      />
      <PromptSheet
        place={here}
        agent={asking}
        asked={asked}
        trace={answered?.trace_id ?? null}
        loading={found.isPending}
        onClose={() => change({ prompt: null, for: null })}
      />
    </section>
  )
}

/** The message that an answer answered: the nearest before it that the agent did not say. Without one, the last. */
function askedFor(messages: Said[], answer: string | null, agent: string | null): Said | undefined {
  const end = answer ? messages.findIndex((one) => one.id === answer) : messages.length
  return messages.slice(0, Math.max(end, 0)).findLast((one) => one.agent === null || one.agent !== agent)
}
