/** What the types let through, and what not: `npm run check` looks. Nothing of it runs. */

/** @param {import('keepstone-client').Keepstone} keepstone */
export async function types(keepstone) {
  const recalled = await keepstone.request('POST', '/v1/recall', {
    body: { scope_id: 'talk', message: { speaker: 'Ada', text: 'Hello.' } },
  })
  /** @type {number | undefined} */
  const relevance = recalled.evidence[0]?.relevance
  /** @type {undefined} */
  const nothing = await keepstone.request('DELETE', '/v1/keys/{key_id}', { path: { key_id: 'key_1' } })
  for await (const project of keepstone.pages('/v1/projects')) project.name.trim()

  // @ts-expect-error there is no such route
  await keepstone.request('POST', '/v1/recal', { body: {} })
  // @ts-expect-error nor with this method
  await keepstone.request('GET', '/v1/recall')
  // @ts-expect-error a message has a text
  await keepstone.request('POST', '/v1/recall', { body: { scope_id: 'talk', message: { speaker: 'Ada' } } })
  // @ts-expect-error the path wants its id
  await keepstone.request('GET', '/v1/keys/{key_id}')
  // @ts-expect-error there is no such parameter
  await keepstone.capsules.search('boat', { limits: 3 })
  // @ts-expect-error that is no list
  keepstone.pages('/v1/me')
  // @ts-expect-error that is no field of it
  recalled.evidences
  return [relevance, nothing]
}
