// Every method of the MemoryClient of the npm package `mem0ai`, against a server: run by tests/test_mem0_npm.py.
import assert from 'node:assert/strict'
import { MemoryClient } from 'mem0ai'

const { KEEPSTONE_URL: host, KEEPSTONE_API_KEY: apiKey } = process.env
const client = new MemoryClient({ apiKey, host })
const anna = { filters: { userId: 'anna' } }
const texts = (answer) => answer.results.map((one) => one.memory)
const says = (text) => [{ role: 'user', content: text }]

/** The message of a call that is refused: this client has it as the text of the answer. */
async function refused(call, status, word) {
  const fault = await call.then(
    (done) => assert.fail(`not refused: ${JSON.stringify(done)}`),
    (thrown) => thrown,
  )
  assert.equal(fault.errorCode, `HTTP_${status}`)
  assert.ok(JSON.parse(fault.message).detail.includes(word), fault.message)
}

await client.ping()
assert.equal(client.projectId, 'default')

// add: a list, one object, a text alone; what comes back is in camelCase, and metadata as it was sent.
const [made] = (
  await client.add(says('Vegetarian'), {
    userId: 'anna',
    metadata: { channel_name: 'web' },
    expirationDate: '2999-12-31',
  })
).results
assert.deepEqual(
  [made.event, made.memory, made.userId, made.expirationDate, made.metadata],
  ['ADD', 'Vegetarian', 'anna', '2999-12-31', { channel_name: 'web' }],
)
const [again] = (await client.add('vegetarian', { userId: 'anna' })).results
assert.deepEqual([again.event, again.id, again.expirationDate], ['UPDATE', made.id, null])
const [tea] = (
  await client.add({ role: 'user', content: 'The tea is in the blue tin' }, { userId: 'anna', infer: false })
).results
await client.add(says('The car is at the station'), {
  userId: 'anna',
  agentId: 'planner',
  infer: false,
  timestamp: 86_400,
})
await client.add(says('The tea of somebody else'), { userId: 'bea', infer: false })
const nothing = await client.add(says('Thank you!'), { userId: 'anna' })
assert.deepEqual([nothing.results, nothing.message.includes('infer=False')], [[], true])

// search and getAll: filters as they are written, in either way.
assert.deepEqual(texts(await client.search('tea', anna)), ['The tea is in the blue tin'])
assert.deepEqual(texts(await client.search('tea', { filters: { user_id: 'anna' }, topK: 1, threshold: 0 })), [
  tea.memory,
])
const both = {
  AND: [{ userId: 'anna' }, { agentId: { in: ['planner'] } }, { createdAt: { lt: '2000-01-01' } }],
}
assert.deepEqual(
  texts(await client.search('car', { filters: both, rerank: true, keywordSearch: true, latestOnly: true })),
  ['The car is at the station'],
)
const all = await client.getAll(anna)
assert.deepEqual(
  [all.count, texts(all)],
  [3, ['The tea is in the blue tin', 'Vegetarian', 'The car is at the station']],
)
assert.deepEqual(texts(await client.getAll({ ...anna, page: 2, pageSize: 2 })), ['The car is at the station'])
assert.deepEqual(texts(await client.getAll({ ...anna, topK: 1, offset: 1 })), ['Vegetarian'])
assert.deepEqual(
  texts(await client.getAll({ filters: { AND: [{ userId: 'anna' }, { memoryIds: [tea.id] }] } })),
  [tea.memory],
)
assert.deepEqual(
  texts(await client.getAll({ filters: { userId: 'anna', metadata: { channel_name: 'web' } } })),
  ['Vegetarian'],
)
assert.deepEqual(texts(await client.getAll({ ...anna, startDate: '2001-01-01', categories: ['none'] })), [])
await refused(client.getAll({ filters: { userID: 'anna' } }), 400, 'userID is not known')
await refused(client.getAll({ ...anna, pageSize: 0 }), 422, 'page_size')
await refused(client.search('tea', {}), 400, 'user_id')

// get, update, history.
assert.deepEqual(await client.get(tea.id), (await client.getAll(anna)).results[0])
const changed = await client.update(tea.id, {
  text: 'The tea is gone',
  metadata: { a: 1 },
  expirationDate: '2000-01-01',
})
assert.deepEqual([changed.memory, changed.expirationDate], ['The tea is gone', '2000-01-01'])
assert.equal((await client.getAll(anna)).count, 2)
assert.equal((await client.getAll({ ...anna, showExpired: true })).count, 3)
assert.equal((await client.get(tea.id)).memory, 'The tea is gone')
await client.update(tea.id, { expirationDate: null })
assert.deepEqual(texts(await client.search('tea', anna)), ['The tea is gone'])
const history = await client.history(tea.id)
assert.deepEqual(
  history.map((one) => [one.event, one.oldMemory, one.newMemory]),
  [
    ['ADD', null, 'The tea is in the blue tin'],
    ['UPDATE', 'The tea is in the blue tin', 'The tea is gone'],
    ['UPDATE', 'The tea is gone', 'The tea is gone'],
  ],
)
await refused(client.update(tea.id, { expirationDate: 'soon' }), 422, '2030-01-31')

// Several at once, entities, and everything into the trash.
await client.batchUpdate([{ memoryId: tea.id, text: 'The tea is back' }])
assert.equal((await client.get(tea.id)).memory, 'The tea is back')
await client.batchDelete([tea.id])
await refused(client.get(tea.id), 404, 'no such memory')
await client.delete(made.id, { deleteLinked: true })
const users = await client.users()
assert.deepEqual(users.results.map((one) => [one.type, one.name, one.totalMemories]).sort(), [
  ['agent', 'planner', 1],
  ['user', 'anna', 1],
  ['user', 'bea', 1],
])
const pages = [await client.users({ page: 1, pageSize: 2 }), await client.users({ page: 2, pageSize: 2 })]
assert.deepEqual(
  pages.flatMap((page) => page.results),
  users.results,
)
await client.deleteAll({ userId: 'anna' })
assert.deepEqual(texts(await client.getAll(anna)), [])
await refused(client.deleteAll({}), 400, 'user_id')
await client.deleteUser({ entity_id: 'bea' })
assert.deepEqual((await client.users()).results, [])
await client.add(says('Loves coffee'), { runId: 'r1' })
await client.deleteUsers({ runId: 'r1' })
await client.add(says('Loves coffee'), { appId: 'shop' })
await client.deleteUsers()
await assert.rejects(client.deleteUsers(), /No entities to delete/)

// What has no meaning here says what to use.
for (const call of [
  () => client.feedback({ memoryId: tea.id, feedback: 'POSITIVE' }),
  () => client.createMemoryExport({ schema: {}, filters: { userId: 'anna' } }),
  () => client.getMemoryExport({ filters: { userId: 'anna' } }),
  () => client.getProject({ fields: ['customInstructions'] }),
  () => client.updateProject({ customInstructions: 'Only food' }),
  () => client.getWebhooks(),
  () => client.createWebhook({ name: 'a', url: 'https://example.org', eventTypes: ['memory_add'] }),
  () => client.updateWebhook({ webhookId: '1', name: 'b' }),
  () => client.deleteWebhook({ webhookId: '1' }),
  () => client.getProfile({ entityId: 'anna' }),
  () => client.generateProfile({ entityId: 'anna' }),
  () => client.getProfileSettings(),
  () => client.updateProfileSettings({ enabled: true }),
  () => client.sampleProfiles({ limit: 1 }),
  () => client.getProfileJob('1'),
]) {
  await refused(call(), 404, ' here')
}
for (const option of ['customInstructions', 'customCategories', 'structuredDataSchema']) {
  await refused(client.add(says('Tea'), { userId: 'anna', [option]: [{ a: 'b' }] }), 400, 'nothing was done')
}
const image = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }
await refused(client.add([{ role: 'user', content: image }], { userId: 'anna' }), 400, 'image')
await refused(new MemoryClient({ apiKey: `${apiKey}x`, host }).search('tea', anna), 401, 'key')

// No method was forgotten: those of the package are those that were called, and those that are its own business.
const own = /^(constructor|_.*)$/
const there = Object.getOwnPropertyNames(MemoryClient.prototype).filter((name) => !own.test(name))
const source = (await import('node:fs')).readFileSync(process.env.EVERY_CALL, 'utf8')
assert.deepEqual(
  there.filter((name) => !source.includes(`.${name}(`)),
  [],
)
console.log(`${there.length} methods`)
