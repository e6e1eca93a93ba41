import { ApiError, api, ok, type Schema } from '@/api/client'
import { askedIn } from './capsules'
import { compose, type Place, type Said } from './place'

/** A prompt as it is shown. With a `trace`: as it was handed to the model. Else composed now, and what it could read. */
export type Shown = Pick<Schema<'ComposedOut'>, 'messages' | 'sections' | 'tokens' | 'compacted'> & {
  asked: string
  filter?: Schema<'FilterOut'>
  trace?: Schema<'TraceOut'>
}

/** What a trace of a composed prompt has besides; ids only for whoever asked. */
type Parameters = {
  window: number
  compacted: boolean
  sections: (Omit<Schema<'SectionOut'>, 'ids'> & { ids?: string[] })[]
}

/** The prompt that an answer was given to. Where it is not kept, or not for this reader, the one of now. */
export async function why(
  place: Place,
  agent: string,
  asked: Said | undefined,
  trace: string | null,
): Promise<Shown> {
  if (trace !== null) {
    try {
      return ofTrace(await ok(api.GET('/v1/traces/{trace_id}', { params: { path: { trace_id: trace } } })))
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.status !== 404 || !asked) throw fault
    }
  }
  const said = asked as Said
  return { ...(await compose(place, agent, await askedIn(said))), asked: said.text }
}

const GONE = '[…]' // for what is deleted meanwhile, or another's

/** The pieces of the system message, one after the other, are its text; each of the others is a message. */
function ofTrace(trace: Schema<'TraceOut'>): Shown {
  const { window, compacted, sections } = trace.parameters as Parameters
  const pieces = trace.handed_out.map(({ role, text }) => ({ role: role ?? 'user', content: text ?? GONE }))
  const system = pieces.filter((one) => one.role === 'system').map((one) => one.content)
  const said = pieces.filter((one) => one.role !== 'system')
  return {
    asked: trace.question ?? GONE,
    messages: [{ role: 'system', content: system.join('') }, ...said],
    sections: sections.map((one) => ({ ids: [], ...one })),
    tokens: { prompt: trace.tokens, window, ratio: trace.tokens / window },
    compacted,
    trace,
  }
}
