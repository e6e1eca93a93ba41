/** Memory around models of the AI SDK: its own mocks, which say how they were called, and a real provider's. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, jsonSchema, streamText, tool, wrapLanguageModel } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { Keepstone } from 'keepstone-client'
import { keepstoneMemory } from 'keepstone-client/ai'

/** @typedef {import('keepstone-client/ai').MemoryWarning} MemoryWarning */
/** @typedef {import('@ai-sdk/provider').LanguageModelV4GenerateResult} Result */
/** @typedef {import('@ai-sdk/provider').LanguageModelV4StreamPart} Part */

const client = new Keepstone()
const FERRY = 'My ferry to the island leaves at nine from pier 3.'
const ASKED = 'When does my ferry to the island leave?'
const QUOTED = /<recalled-memory [^>]*>[\s\S]*My ferry to the island leaves at nine[\s\S]*<\/recalled-memory>/
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** @param {string} text @returns {Result} */
function says(text) {
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: USAGE,
    warnings: [],
  }
}

/** @returns {Result} */
function looksUp() {
  return {
    content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'timetable', input: '{}' }],
    finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
    usage: USAGE,
    warnings: [],
  }
}

/** @param {string[]} words @param {Part[]} end @returns {Part[]} */
function parts(words, end = [{ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: USAGE }]) {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '1' },
    ...words.map((delta) => /** @type {Part} */ ({ type: 'text-delta', id: '1', delta })),
    ...(end.length ? [/** @type {Part} */ ({ type: 'text-end', id: '1' })] : []),
    ...end,
  ]
}

/** @param {Part[]} chunks */
function streams(chunks) {
  return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) }
}

/** @param {string} scope */
async function kept(scope) {
  const messages = await client.scopes.messages(scope).all()
  return messages.map((one) => `${one.speaker}: ${one.text}${one.metadata?.incomplete ? ' …' : ''}`)
}

/** @param {import('@ai-sdk/provider').LanguageModelV4} model @param {import('keepstone-client/ai').MemoryOptions} options */
function remembering(model, options) {
  return wrapLanguageModel({ model, middleware: keepstoneMemory({ client, ...options }) })
}

test('what was said in one call is before the model in another, quoted, and only the two words are kept', async () => {
  const mock = new MockLanguageModelV4({ doGenerate: [says('Noted.'), says('At nine.')] })
  const model = remembering(mock, { scope: 'ai-1', speaker: 'Anna' })
  await generateText({ model, prompt: FERRY })
  const { text } = await generateText({ model, instructions: 'Be brief.', prompt: ASKED })
  assert.equal(text, 'At nine.')

  assert.ok(!JSON.stringify(mock.doGenerateCalls[0]?.prompt).includes('recalled-memory'))
  const [system, user, ...rest] = mock.doGenerateCalls[1]?.prompt ?? []
  assert.equal(system?.role, 'system')
  assert.match(String(system?.content), /^Be brief\.\n\n/)
  assert.match(String(system?.content), QUOTED)
  assert.deepEqual([user?.role, JSON.stringify(user?.content).includes('recalled'), rest.length], ['user', false, 0])
  const said = await kept('ai-1')
  assert.deepEqual(said, [`Anna: ${FERRY}`, 'assistant: Noted.', `Anna: ${ASKED}`, 'assistant: At nine.'])
})

test('a model that says again what was recalled does not have it kept as something that was said', async () => {
  await client.scopes.ingest('ai-2', [{ id: '1', speaker: 'Anna', text: FERRY }])
  const mock = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => says(`It says: ${prompt[0]?.role === 'system' ? prompt[0].content : ''}`),
  })
  const { text } = await generateText({ model: remembering(mock, { scope: 'ai-2', speaker: 'Anna' }), prompt: ASKED })
  assert.match(text, QUOTED)
  assert.equal((await kept('ai-2')).length, 3)
  const { context } = await client.scopes.recall('ai-2', ASKED, { min_relevance: 0 })
  assert.equal(context.split('leaves at nine').length - 1, 1, context)
})

test('in a turn with tools the same stands there in each step, and the turn is kept once', async () => {
  await client.scopes.ingest('ai-3', [{ id: '1', speaker: 'Anna', text: FERRY }])
  const mock = new MockLanguageModelV4({ doGenerate: [looksUp(), says('At nine.')] })
  let recalls = 0
  const counting = new Keepstone({
    fetch: (url, init) => {
      recalls += String(url).endsWith('/v1/recall') ? 1 : 0
      return fetch(url, init)
    },
  })
  const timetable = tool({ inputSchema: jsonSchema({ type: 'object', properties: {} }), execute: async () => '09:00' })
  await generateText({
    model: remembering(mock, { client: counting, scope: 'ai-3', speaker: 'Anna' }),
    prompt: ASKED,
    tools: { timetable },
    stopWhen: isStepCount(3),
  })
  const [first, second] = mock.doGenerateCalls.map((call) => call.prompt[0])
  assert.match(String(first?.content), QUOTED)
  assert.deepEqual(second, first)
  assert.equal(recalls, 1)
  assert.deepEqual(await kept('ai-3'), [`Anna: ${FERRY}`, `Anna: ${ASKED}`, 'assistant: At nine.'])
})

test('a stream comes as it is, and is kept when it is over', async () => {
  await client.scopes.ingest('ai-4', [{ id: '1', speaker: 'Anna', text: FERRY }])
  const mock = new MockLanguageModelV4({ doStream: streams(parts(['At ', 'nine.'])) })
  const result = streamText({ model: remembering(mock, { scope: 'ai-4', speaker: 'Anna' }), prompt: ASKED })
  const words = []
  for await (const word of result.textStream) words.push(word)
  assert.deepEqual(words, ['At ', 'nine.'])
  assert.match(String(mock.doStreamCalls[0]?.prompt[0]?.content), QUOTED)
  assert.deepEqual(await kept('ai-4'), [`Anna: ${FERRY}`, `Anna: ${ASKED}`, 'assistant: At nine.'])
})

test('an answer that breaks off, or that nobody waits for, is kept as far as it came, and marked', async () => {
  const broken = new MockLanguageModelV4({
    doStream: streams(parts(['At '], [{ type: 'error', error: new Error('x') }])),
  })
  const first = streamText({ model: remembering(broken, { scope: 'ai-5' }), prompt: FERRY, onError: () => undefined })
  await first.consumeStream()
  assert.deepEqual(await kept('ai-5'), [`user: ${FERRY}`, 'assistant: At  …'])

  // As a server does it whose client went away.
  const endless = new ReadableStream({
    start(controller) {
      for (const part of parts(['At ', 'ni'], [])) controller.enqueue(part)
    },
  })
  const model = remembering(new MockLanguageModelV4({ doStream: { stream: endless } }), { scope: 'ai-6' })
  const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: FERRY }] }] })
  const reader = stream.getReader()
  for (let n = 0; n < 4; n += 1) await reader.read()
  await reader.cancel()
  assert.deepEqual(await kept('ai-6'), [`user: ${FERRY}`, 'assistant: At ni …'])
})

test('a model that fails keeps nothing, so that the question can be asked again', async () => {
  const mock = new MockLanguageModelV4({
    doGenerate: async () => {
      throw new Error('The model is away.')
    },
  })
  const asking = generateText({ model: remembering(mock, { scope: 'ai-7' }), prompt: FERRY, maxRetries: 0 })
  await assert.rejects(asking, /The model is away/)
  assert.deepEqual(await kept('ai-7'), [])
})

test('what goes wrong with memory is told, and the model answers all the same', async () => {
  /** @type {MemoryWarning[]} */
  const warnings = []
  const away = new Keepstone({ apiKey: 'ck_wrong', retries: 0 })
  const options = {
    client: away,
    scope: 'ai-8',
    onWarning: (/** @type {MemoryWarning} */ one) => void warnings.push(one),
  }
  const mock = new MockLanguageModelV4({ doGenerate: says('Hello.'), doStream: streams(parts(['Hello.'])) })
  assert.equal((await generateText({ model: remembering(mock, options), prompt: FERRY })).text, 'Hello.')
  assert.equal(await streamText({ model: remembering(mock, options), prompt: FERRY }).text, 'Hello.')
  const told = warnings.map(({ during, scope, error }) => [during, scope, /** @type {any} */ (error).code])
  const twice = ['recall', 'keep', 'recall', 'keep'].map((during) => [during, 'ai-8', 'unauthorized'])
  assert.deepEqual(
    told.map(([a, b, c]) => [a, b, c.toLowerCase()]),
    twice,
  )

  const silent = new Keepstone({
    fetch: (_, init) =>
      new Promise((__, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))),
  })
  warnings.length = 0
  const patient = remembering(mock, { ...options, client: silent, patience: 20 })
  assert.equal((await generateText({ model: patient, prompt: FERRY })).text, 'Hello.')
  assert.match(String(warnings[0]?.error), /no answer within 20 ms/)
})

test('each call can name its own conversation and user, and nothing of one reaches another', async () => {
  const { email } = await client.request('POST', '/v1/users', { body: { email: 'ben@example.org', name: 'Ben' } })
  const { key } = await client.request('POST', '/v1/keys', { body: { name: 'backend', service: true } })
  const backend = new Keepstone({ apiKey: key })
  const mock = new MockLanguageModelV4({ doGenerate: async () => says('Noted.') })
  const model = remembering(mock, { client: backend, recall: true })
  /** @param {string} user @param {string} prompt */
  const say = (user, prompt) => generateText({ model, prompt, providerOptions: { keepstone: { scope: 'trip', user } } })
  await say('owner@localhost', FERRY)
  await say(email, ASKED)
  await say('owner@localhost', ASKED)
  const [, other, own] = mock.doGenerateCalls.map((call) => JSON.stringify(call.prompt))
  assert.ok(!other?.includes('leaves at nine'))
  assert.ok(own?.includes('leaves at nine'))
  // Without a conversation there is no memory, and no fault.
  await generateText({ model, prompt: ASKED })
  assert.deepEqual((await backend.actingFor(email).scopes.messages('trip').all()).length, 2)
})

test('a real provider is sent what was recalled', async () => {
  await client.scopes.ingest('ai-9', [{ id: '1', speaker: 'Anna', text: FERRY }])
  const provider = createOpenAICompatible({ name: 'local', baseURL: process.env.MODEL_URL ?? '', apiKey: 'sk' })
  const model = remembering(provider('m-1'), { scope: 'ai-9', speaker: 'Anna' })
  assert.equal((await generateText({ model, prompt: ASKED })).text, 'At nine.')
  assert.equal(await streamText({ model, prompt: ASKED }).text, 'At nine.')
  assert.equal((await kept('ai-9')).length, 5)
})
