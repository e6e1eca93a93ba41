import { EventSourceParserStream } from 'eventsource-parser/stream'
import { send } from './client'

export type ServerEvent = { event: string; data: string }

/** Posts JSON and yields the server-sent events of the answer, until it ends or `signal` says so. */
export async function* events(
  path: string,
  body: unknown,
  signal?: AbortSignal,
  headers?: Record<string, string>,
): AsyncGenerator<ServerEvent> {
  const response = await send(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      ...headers,
    },
    body: JSON.stringify(body),
    signal,
  })
  if (!response.body) return
  const reader = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield { event: value.event ?? 'message', data: value.data }
    }
  } finally {
    await reader.cancel()
  }
}
