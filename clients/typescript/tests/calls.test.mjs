/** What a call is: as whom it goes out, when it is sent again, what it throws. On a server that answers as it is told. */

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import {
  Conflict,
  ConnectionFailed,
  Forbidden,
  Invalid,
  Keepstone,
  KeepstoneError,
  NotFound,
  PaymentRequired,
  QuotaExceeded,
  RateLimited,
  ServerFault,
  TooLarge,
  Unauthorized,
  Unavailable,
  UnexpectedAnswer,
  UpstreamError,
} from 'keepstone-client'
import { scripted, told } from './scripted.mjs'

const FINE = { body: { items: [], next_cursor: null, has_more: false } }
const SAID = [{ speaker: 'Ada', text: 'Hello.' }]

test('a request says who calls and for whom, and only then', async (t) => {
  const { asked, keepstone } = await scripted(t, [FINE, FINE, FINE])
  await keepstone.capsules.search('boat & pier', { tag: ['a', 'b'], limit: 3, kind: undefined })
  await keepstone.actingFor('ada@example.org').call('GET', '/v1/new')
  await keepstone.scopes.messages('team/berlin?').first()
  assert.equal(asked[0]?.path, '/v1/memory/capsules?q=boat+%26+pier&tag=a&tag=b&limit=3')
  assert.equal(asked[0]?.headers.authorization, 'Bearer ck_x')
  assert.equal(asked[0]?.headers['x-keepstone-user'], undefined)
  assert.equal(asked[1]?.headers['x-keepstone-user'], 'ada@example.org')
  assert.equal(asked[2]?.path, '/v1/scopes/team%2Fberlin%3F/messages')
})

test('what would lead elsewhere is no id, and an address that is none is refused at once', () => {
  const keepstone = new Keepstone({ url: 'http://127.0.0.1:9' })
  for (const id of ['', '.', '..']) assert.throws(() => keepstone.chats.messages(id), /chat_id is "/)
  for (const url of ['localhost:8420', 'ftp://x', 'http://', '/v1'])
    assert.throws(() => new Keepstone({ url }), /url is/)
})

for (const [status, code, kind] of /** @type {const} */ ([
  [400, 'VALIDATION_ERROR', Invalid],
  [401, 'UNAUTHORIZED', Unauthorized],
  [402, 'PAYMENT_REQUIRED', PaymentRequired],
  [403, 'forbidden', Forbidden],
  [404, 'not_found', NotFound],
  [409, 'conflict', Conflict],
  [413, 'too_large', TooLarge],
  [422, 'VALIDATION_ERROR', Invalid],
  [429, 'quota_exceeded', QuotaExceeded],
  [429, 'rate_limited', RateLimited],
  [500, 'internal', ServerFault],
  [502, 'UPSTREAM_ERROR', UpstreamError],
  [503, 'unavailable', Unavailable],
  [504, 'timeout', Unavailable],
  [418, 'teapot', KeepstoneError],
])) {
  test(`${status} ${code} is ${kind.name}, with all that was told`, async (t) => {
    const more = { details: [{ path: 'body.text' }], upgrade_url: 'https://example.org/more' }
    const answer = { status, body: told(code, 'No.', more), headers: { 'retry-after': '7' } }
    const { keepstone } = await scripted(t, [answer], { retries: 0 })
    const fault = await keepstone.me().catch((error) => error)
    assert.equal(fault.constructor, kind)
    assert.ok(fault instanceof KeepstoneError)
    assert.equal(fault.name, kind.name)
    assert.equal(fault.message, 'No.')
    assert.deepEqual(
      [fault.code, fault.status, fault.requestId, fault.retryAfter, fault.upgradeUrl, fault.details],
      [code, status, 'req_1', 7, 'https://example.org/more', [{ path: 'body.text' }]],
    )
  })
}

test('what is not Keepstone is told apart', async (t) => {
  const { keepstone } = await scripted(t, [
    { pieces: ['<html>'], headers: { 'content-type': 'text/html' } },
    { status: 302, headers: { location: 'https://example.org/' } },
  ])
  await assert.rejects(keepstone.me(), (fault) => fault instanceof UnexpectedAnswer && /not JSON/.test(fault.message))
  await assert.rejects(keepstone.me(), (fault) => fault instanceof UnexpectedAnswer && /elsewhere/.test(fault.message))
})

for (const answer of /** @type {import('./scripted.mjs').Said[]} */ ([
  { status: 502 },
  { status: 503 },
  { status: 504 },
  { ending: 'cut' },
  { pieces: ['{"items"'], ending: 'cut' },
])) {
  test(`after ${JSON.stringify(answer)} what changes nothing is sent again, and a write is not`, async (t) => {
    const looking = await scripted(t, [answer, answer, FINE])
    assert.deepEqual((await looking.keepstone.capsules.list().first()).items, [])
    assert.equal(looking.asked.length, 3)

    const writing = await scripted(t, [answer, FINE])
    await assert.rejects(writing.keepstone.scopes.ingest('talk', SAID), KeepstoneError)
    assert.equal(writing.asked.length, 1)

    const known = await scripted(t, [answer, FINE])
    await known.keepstone.scopes.ingest(
      'talk',
      SAID.map((row) => ({ ...row, id: '1' })),
    )
    assert.equal(known.asked.length, 2)
  })
}

test('a limit of requests was looked at first, so everything is sent again; a quota that is used up is not', async (t) => {
  const limited = { status: 429, body: told('rate_limited', 'Slow down.'), headers: { 'retry-after': '0' } }
  const { asked, keepstone } = await scripted(t, [limited, { body: {} }])
  await keepstone.capsules.create('x')
  assert.equal(asked.length, 2)

  const full = await scripted(t, [{ status: 429, body: told('quota_exceeded', 'Full.') }])
  await assert.rejects(full.keepstone.capsules.create('x'), QuotaExceeded)
  assert.equal(full.asked.length, 1)
})

test('what the server asks for above the patience is an error at once', async (t) => {
  const limited = { status: 429, body: told('rate_limited', 'Slow down.'), headers: { 'retry-after': '3600' } }
  const { asked, keepstone } = await scripted(t, [limited])
  await assert.rejects(keepstone.me(), (fault) => fault instanceof RateLimited && fault.retryAfter === 3600)
  assert.equal(asked.length, 1)
})

test('which calls may be sent twice is as the Python client has it', async (t) => {
  const passing = { status: 503 }
  /** @type {[string, string, unknown, boolean][]} */
  const calls = [
    ['POST', '/v1/recall', {}, true],
    ['POST', '/v1/ask', {}, false],
    ['PATCH', '/v1/me', {}, false],
    ['POST', '/v1/memory/capsules/curate', {}, true],
    ['POST', '/v1/memory/capsules/merge', {}, false],
    ['PUT', '/v1/stores/{store}/items', { key: 'k' }, true],
    ['PUT', '/v1/stores/{store}/items', { if_version: 0 }, false],
    ['POST', '/v1/stores/{store}/batch', { operations: [{ op: 'get' }] }, true],
    ['POST', '/v1/stores/{store}/batch', { operations: [{ op: 'put', if_version: 1 }] }, false],
    ['POST', '/v1/rooms/{room_id}/messages', { id: 'mine' }, true],
    ['POST', '/v1/rooms/{room_id}/messages', {}, false],
    ['POST', '/v1/graphs/{graph_id}/nodes/{node_id}/revive', undefined, true],
    ['PATCH', '/v1/scopes/{scope_id}/people/{statement_id}', {}, true],
  ]
  for (const [method, path, body, twice] of calls) {
    const { asked, keepstone } = await scripted(t, [passing, { body: {} }])
    await keepstone.call(method, path, { body }).catch(() => undefined)
    assert.equal(asked.length, twice ? 2 : 1, `${method} ${path}`)
  }
})

test('nobody there says where it looked, and even a write is tried again', async () => {
  const nobody = createServer()
  await new Promise((ready) => nobody.listen(0, '127.0.0.1', () => ready(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (nobody.address())
  await new Promise((closed) => nobody.close(closed))
  let tries = 0
  const keepstone = new Keepstone({
    url: `http://127.0.0.1:${port}`,
    retries: { base: 1, cap: 1 },
    fetch: (...given) => {
      tries += 1
      return fetch(...given)
    },
  })
  await assert.rejects(keepstone.capsules.create('x'), (fault) => {
    assert.ok(fault instanceof ConnectionFailed)
    assert.ok(fault.message.startsWith(`No answer from http://127.0.0.1:${port} (`))
    assert.match(fault.message, /ECONNREFUSED|refused/)
    return true
  })
  assert.equal(tries, 3)
})

test('a DELETE whose answer was lost has been done', async (t) => {
  const { asked, keepstone } = await scripted(t, [{ ending: 'cut' }, { status: 404, body: told('not_found', 'Gone.') }])
  await keepstone.capsules.delete('cap_1')
  assert.equal(asked.length, 2)
  const never = await scripted(t, [{ status: 404, body: told('not_found', 'Gone.') }])
  await assert.rejects(never.keepstone.capsules.delete('cap_1'), NotFound)
})

test('nothing is waited for without an end', async (t) => {
  const { keepstone } = await scripted(t, [{ ending: 'hang' }, { pieces: ['{'], ending: 'hang' }], {
    retries: 0,
    timeout: 50,
  })
  for (let turn = 0; turn < 2; turn += 1) {
    await assert.rejects(
      keepstone.me(),
      (fault) => fault instanceof ConnectionFailed && /nothing came for 50 ms/.test(fault.message),
    )
  }
})

test('a signal ends a call wherever it stands, with its own reason', async (t) => {
  const { asked, keepstone } = await scripted(t, [{ ending: 'hang' }, { status: 503 }], {
    retries: { base: 60_000, cap: 60_000, most: 1 },
  })
  for (let turn = 0; turn < 2; turn += 1) {
    const controller = new AbortController()
    const asking = keepstone.me({ signal: controller.signal })
    while (asked.length <= turn) await new Promise(setImmediate)
    controller.abort(new Error('enough'))
    await assert.rejects(asking, /enough/)
  }
  await assert.rejects(keepstone.me({ signal: AbortSignal.abort(new Error('at once')) }), /at once/)
  assert.equal(asked.length, 2)
})

test('a list is gone through page by page, and only as far as one looks', async (t) => {
  const pages = [
    { body: { items: [{ id: 1 }, { id: 2 }], next_cursor: 'c1', has_more: true } },
    { body: { items: [{ id: 3 }], next_cursor: null, has_more: false } },
  ]
  const { asked, keepstone } = await scripted(t, [...pages, ...pages])
  const list = keepstone.capsules.list({ tag: ['x'] })
  assert.equal(asked.length, 0)
  assert.deepEqual(
    (await list.all()).map((one) => one.id),
    [1, 2, 3],
  )
  assert.deepEqual(
    asked.map((one) => one.path),
    ['/v1/memory/capsules?tag=x', '/v1/memory/capsules?tag=x&cursor=c1'],
  )
  for await (const one of list) if (one) break
  assert.equal(asked.length, 3)
})

const EVENTS = [
  'event: message.created\r\ndata: {"message":{"id":"msg_1"}}\r\n\r\n: a comment\n',
  'event: message.delta\ndata: {"delta":"Ün\u2028ï"}\n\nevent: later.on\ndata:{"what":\ndata: 1}\n\n',
  'event: message.done\rdata: {"message":{"id":"msg_2"}}\r\r: the end\n',
].join('')

for (const size of [1, 2, 7, 1000]) {
  test(`events are the same however the bytes are cut: ${size} at a time`, async (t) => {
    const bytes = new TextEncoder().encode(EVENTS)
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    )
    const { asked, keepstone } = await scripted(t, [{ pieces, headers: { 'content-type': 'text/event-stream' } }])
    const events = []
    for await (const event of keepstone.chats.say('chat_1', 'Hello?')) events.push(event)
    assert.deepEqual(events, [
      { event: 'message.created', data: { message: { id: 'msg_1' } } },
      { event: 'message.delta', data: { delta: 'Ün\u2028ï' } },
      { event: 'later.on', data: { what: 1 } },
      { event: 'message.done', data: { message: { id: 'msg_2' } } },
    ])
    assert.equal(asked[0]?.headers.accept, 'text/event-stream')
  })
}

test('an answer that fails or breaks off throws', async (t) => {
  const begun = 'event: message.delta\ndata: {"delta":"A"}\n\n'
  const failed = 'event: error\ndata: {"error":{"code":"UPSTREAM_ERROR","message":"The model is away."}}\n\n'
  const { keepstone } = await scripted(t, [
    { pieces: [begun, failed] },
    { pieces: [begun] },
    { pieces: [begun], ending: 'cut' },
    { pieces: ['data: {\n\n'] },
    { pieces: [begun], ending: 'hang' },
  ])
  const say = (timeout = 60_000) => keepstone.chats.say('chat_1', 'Hello?', {}, { timeout }).done()
  await assert.rejects(say(), (fault) => fault instanceof KeepstoneError && fault.code === 'UPSTREAM_ERROR')
  await assert.rejects(
    say(),
    (fault) => fault instanceof ConnectionFailed && /before it was complete/.test(fault.message),
  )
  await assert.rejects(say(), ConnectionFailed)
  await assert.rejects(say(), UnexpectedAnswer)
  await assert.rejects(
    say(50),
    (fault) => fault instanceof ConnectionFailed && /nothing came for 50 ms/.test(fault.message),
  )
})
