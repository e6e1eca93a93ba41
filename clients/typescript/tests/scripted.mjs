/** A server that answers as it is told, and remembers what it was asked. */

import { createServer } from 'node:http'
import { Keepstone } from 'keepstone-client'

/**
 * @typedef {{ status?: number, headers?: Record<string, string>, body?: unknown, pieces?: (string | Uint8Array)[],
 *   ending?: 'whole' | 'cut' | 'hang' }} Said
 * @typedef {{ method: string, path: string, headers: import('node:http').IncomingHttpHeaders, body: string }} Asked
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {Said[]} answers
 * @param {import('keepstone-client').KeepstoneOptions} [options]
 */
export async function scripted(t, answers, options = {}) {
  /** @type {Asked[]} */
  const asked = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    asked.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
    const { status = 200, headers = {}, body: told, pieces, ending = 'whole' } = answers.shift() ?? { status: 500 }
    if (!pieces && ending === 'cut') return response.destroy()
    if (!pieces && ending === 'hang') return
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    if (!pieces) return response.end(told === undefined ? '' : JSON.stringify(told))
    for (const piece of pieces) await new Promise((sent) => response.write(piece, sent))
    if (ending === 'whole') response.end()
    if (ending === 'cut') response.destroy()
  })
  await new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(undefined)))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const retries = { base: 1, cap: 1 }
  const keepstone = new Keepstone({ url: `http://127.0.0.1:${port}/`, apiKey: 'ck_x', retries, ...options })
  return { asked, keepstone, answers }
}

/**
 * @param {string} code
 * @param {string} message
 */
export function told(code, message, more = {}) {
  return { error: { code, message, ...more }, request_id: 'req_1' }
}
