/** Every resource on a real server, whose model answers "At nine.": KEEPSTONE_URL and KEEPSTONE_API_KEY say where. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Conflict, Invalid, Keepstone, NotFound } from 'keepstone-client'

const keepstone = new Keepstone()
const FERRY = 'The ferry to the island leaves at nine from pier 3.'

test('who calls, and a service key acts for somebody', async () => {
  const me = await keepstone.me()
  assert.equal(me.via, 'key')
  const made = await keepstone.request('POST', '/v1/keys', { body: { name: 'backend', service: true } })
  const backend = new Keepstone({ apiKey: made.key })
  assert.equal((await backend.me()).user, null)
  assert.equal((await backend.actingFor('owner@localhost').me()).user?.email, 'owner@localhost')
  const { token } = await keepstone.request('POST', '/auth/token')
  assert.equal((await new Keepstone({ apiKey: token }).me()).user?.email, 'owner@localhost')
  await keepstone.request('DELETE', '/v1/keys/{key_id}', { path: { key_id: made.id } })
})

test('a scope keeps what was said, and what is known of people is put right', async () => {
  const { scopes } = keepstone
  const rows = [
    { id: '1', speaker: 'Anna', text: 'I finally moved to Lisbon last week.', ts: '2026-05-02T18:00:00Z' },
    { id: '2', speaker: 'Ben', text: 'I booked the ferry to the island for the 14th of June.', reply_to: '1' },
  ]
  assert.equal((await scopes.ingest('team/one', rows)).ingested, 2)
  assert.equal((await scopes.ingest('team/one', rows)).ingested, 0)
  const recalled = await scopes.recall('team/one', 'When do we take the ferry?', { speaker: 'Cleo', max_tokens: 500 })
  assert.equal(recalled.evidence[0]?.id, '2')
  assert.match(recalled.context, /^<recalled-memory /)
  assert.equal((await scopes.ask('team/one', 'When is the ferry?')).abstained, false)
  assert.ok((await scopes.list({ q: 'team/' }).all()).some((one) => one.scope_id === 'team/one'))
  assert.deepEqual(
    (await scopes.messages('team/one', { limit: 1 }).all()).map((one) => one.id),
    ['1', '2'],
  )

  // A job reads it out of what was said.
  let known
  while (!known) [known] = (await scopes.people('team/one', { speaker: 'Anna' }).first()).items
  assert.match(known?.text ?? '', /Lisbon/)
  const id = known?.id ?? ''
  assert.equal((await scopes.correct('team/one', id, { text: 'Anna lives in Porto' })).version, 2)
  await scopes.forget('team/one', id)
  assert.equal((await scopes.restore('team/one', id)).deleted_at, null)

  const trace = await keepstone.traces.get(recalled.trace_id ?? '')
  assert.equal(trace.kind, 'recall')
  assert.ok((await keepstone.traces.list({ limit: 5 }).first()).items.length)
})

test('a capsule lives through everything', async () => {
  const { capsules } = keepstone
  const kept = await capsules.create(FERRY, { tags: ['travel'], title: 'Ferry' })
  for (let n = 0; n < 3; n += 1) await capsules.create(`Note ${n} of the harbour master.`, { tags: ['notes'] })
  assert.match((await capsules.search('ferry')).items[0]?.snippet ?? '', /<mark>ferry<\/mark>/)
  assert.equal((await capsules.list({ tag: ['notes'], limit: 2 }).all()).length, 3)
  assert.equal((await capsules.update(kept.id, { content_md: 'It leaves at ten.' })).version, 2)
  assert.deepEqual(
    (await capsules.history(kept.id)).map((one) => one.version),
    [2, 1],
  )
  await capsules.delete(kept.id)
  await assert.rejects(capsules.get(kept.id), (fault) => fault instanceof NotFound && Boolean(fault.requestId))
  assert.ok((await capsules.trash().all()).some((one) => one.id === kept.id))
  await capsules.restore(kept.id)
  assert.equal((await capsules.get(kept.id)).content_md, 'It leaves at ten.')
  assert.ok((await keepstone.find('harbour', { limit: 3 })).groups.length)
  await assert.rejects(capsules.create(''), (fault) => {
    assert.ok(fault instanceof Invalid)
    assert.deepEqual(/** @type {{ path: string }[]} */ (fault.details)[0]?.path, 'body.content_md')
    return true
  })
})

test('workspaces, what they remember, and their files', async () => {
  const { workspaces, memories, files } = keepstone
  const place = await workspaces.create('Harbor')
  assert.equal((await workspaces.rename(place.id, 'Harbour')).name, 'Harbour')
  const memory = await memories.create(place.id, FERRY, { category: 'fact' })
  await memories.update(place.id, memory.id, 'The ferry leaves at ten.')
  assert.equal((await memories.history(place.id, memory.id)).length, 2)
  await memories.delete(place.id, memory.id)
  await memories.restore(place.id, memory.id)
  assert.equal((await memories.get(place.id, memory.id)).content, 'The ferry leaves at ten.')
  assert.equal((await memories.list(place.id).all()).length, 1)

  const file = await files.upload(place.id, 'fares.md', '# Fares\n\nA crossing costs four crowns.\n')
  assert.deepEqual([file.change, file.name], ['created', 'fares.md'])
  assert.match(await (await files.content(place.id, file.id)).text(), /four crowns/)
  assert.equal((await workspaces.search(place.id, 'crowns', { type: ['document'] })).items[0]?.title, 'fares.md')
  await files.delete(place.id, file.id)
  assert.deepEqual(await files.list(place.id).all(), [])

  await workspaces.delete(place.id)
  await workspaces.restore(place.id)
  assert.equal((await workspaces.get(place.id)).name, 'Harbour')
  assert.ok((await workspaces.list().all()).length >= 2)
})

test('a chat answers as a stream, from memory', async () => {
  const { chats } = keepstone
  const chat = await chats.create({ title: 'Crossing' })
  await chats.remember(chat.id, { content: FERRY })
  const kinds = new Set()
  let answer = ''
  for await (const event of chats.say(chat.id, 'When does the ferry to the island leave?')) {
    kinds.add(event.event)
    if (event.event === 'x_memory.injected') assert.equal(event.data.memories[0]?.content, FERRY)
    if (event.event === 'message.delta') answer += event.data.delta
  }
  assert.equal(answer, 'At nine.')
  assert.deepEqual([...kinds], ['message.created', 'x_memory.injected', 'message.delta', 'message.done'])
  assert.equal((await chats.say(chat.id, 'Thank you.').done()).role, 'assistant')
  assert.equal((await chats.messages(chat.id).all()).length, 4)
  assert.equal((await chats.update(chat.id, { title: 'Over' })).title, 'Over')
  await chats.delete(chat.id)
  await chats.restore(chat.id)
  assert.equal((await chats.get(chat.id)).title, 'Over')
  assert.ok((await chats.list({ q: 'Over' }).all()).length)
})

test('a graph and its nodes', async () => {
  const { graphs } = keepstone
  const graph = await graphs.create('Fleet')
  const boat = await graphs.addNode(graph.id, 'Sirius is a ferry.', { node_type: 'ship' })
  const pier = await graphs.addNode(graph.id, 'Pier 3 is at the old quay.', { node_type: 'place' })
  await graphs.addEdge(graph.id, { from_id: boat.id, to_id: pier.id, edge_type: 'leaves_from' })
  assert.equal((await graphs.neighbors(graph.id, boat.id))[0]?.node.content, 'Pier 3 is at the old quay.')
  assert.equal((await graphs.recall(graph.id, 'ferry', { min_relevance: 0 })).results[0]?.node_type, 'ship')
  assert.equal((await graphs.nodes(graph.id, { node_type: 'ship' }).all()).length, 1)
  assert.equal((await graphs.edges(graph.id).all()).length, 1)
  assert.equal((await graphs.updateNode(graph.id, boat.id, { content: 'Sirius is a big ferry.' })).version, 2)
  await graphs.deleteNode(graph.id, pier.id)
  assert.equal((await graphs.node(graph.id, boat.id)).content, 'Sirius is a big ferry.')
  assert.ok((await graphs.list().all()).some((one) => one.id === graph.id))
  await graphs.delete(graph.id)
  await assert.rejects(graphs.get(graph.id), NotFound)
})

test('a store keeps items, and one that came between is a conflict', async () => {
  const { stores } = keepstone
  const mine = ['users', 'anna']
  const put = await stores.put('agent', mine, 'tea', { text: 'Anna takes her tea without sugar.' })
  await assert.rejects(stores.put('agent', mine, 'tea', { text: 'x' }, { if_version: 0 }), Conflict)
  assert.equal((await stores.get('agent', mine, 'tea')).version, put.version)
  assert.equal((await stores.search('agent', { namespace_prefix: ['users'], query: 'tea sugar' }))[0]?.key, 'tea')
  const [first, second] = await stores.batch('agent', [
    { op: 'put', namespace: mine, key: 'bread', value: { text: 'Rye.' } },
    { op: 'get', namespace: mine, key: 'bread' },
  ])
  assert.ok(first)
  assert.deepEqual(second?.item?.value, { text: 'Rye.' })
  await stores.delete('agent', mine, 'tea')
  await stores.restore('agent', mine, 'tea')
  assert.equal((await stores.history('agent', mine, 'tea').all()).length, 3)
  assert.ok((await stores.list().all()).some((one) => one.name === 'agent'))
})

test('a room with an agent, and its facts', async () => {
  const { agents, rooms, facts } = keepstone
  await agents.create('pilot', 'Pilot', { instructions: 'Be brief.' })
  assert.ok((await agents.list().all()).some((one) => one.slug === 'pilot'))
  const room = await rooms.create('Bridge', { agents: ['pilot'] })
  await rooms.say(room.id, 'We leave at nine.', { id: 'mine-1' })
  await rooms.say(room.id, 'We leave at nine.', { id: 'mine-1' })
  assert.equal((await rooms.messages(room.id).all()).length, 1)
  const composed = await rooms.compose(room.id, { agent: 'pilot', message: { text: 'When do we leave?' } })
  assert.equal(composed.messages[0]?.role, 'system')
  await facts.put('room', room.id, 'speed_limit', { knots: 12 })
  assert.deepEqual((await facts.get('room', room.id, 'speed_limit')).value, { knots: 12 })
  await facts.delete('room', room.id, 'speed_limit')
  assert.ok((await rooms.list().all()).some((one) => one.id === room.id))
  assert.equal((await rooms.get(room.id)).name, 'Bridge')
  await rooms.delete(room.id)
})

test('everything is taken out as it comes', async () => {
  const archive = await keepstone.response('GET', '/v1/export')
  assert.equal(archive.headers.get('content-type'), 'application/zip')
  const bytes = new Uint8Array(await archive.arrayBuffer())
  assert.deepEqual([...bytes.subarray(0, 2)], [0x50, 0x4b])
})
