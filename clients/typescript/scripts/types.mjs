/** Writes `src/schema.ts`: what the API takes and gives, out of `openapi.json`, for what this client calls. */

import { readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'

const HERE = new URL('..', import.meta.url)
const api = JSON.parse(readFileSync(new URL('../../openapi.json', HERE), 'utf8'))
// A browser's own doors, and what the clients of others are for: those of OpenAI and of mem0.
const NOT_OURS =
  /^\/(chat\/api|x_console|auth\/(login|logout|once|accept|totp)|v1\/(chat\/completions|responses|models|embeddings|billing))\b/

for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    if (NOT_OURS.test(path) || operation.tags?.includes('mem0')) {
      delete methods[method]
      continue
    }
    // Errors are classes, and for whom a service key speaks is said by the client.
    for (const status of Object.keys(operation.responses)) {
      if (!status.startsWith('2')) delete operation.responses[status]
    }
    operation.parameters = operation.parameters?.filter((one) => one.in !== 'header')
  }
  if (!Object.keys(methods).length) delete api.paths[path]
}

/** The names of fields once more, in capitals. */
function untitle(schema) {
  if (typeof schema !== 'object' || schema === null) return
  if (typeof schema.title === 'string') delete schema.title
  Object.values(schema).forEach(untitle)
}
untitle(api.components.schemas)

const used = new Set()
function follow(text) {
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (!used.has(name)) {
      used.add(name)
      follow(JSON.stringify(api.components.schemas[name]))
    }
  }
}
follow(JSON.stringify(api.paths))
const schemas = Object.fromEntries(Object.entries(api.components.schemas).filter(([name]) => used.has(name)))
api.components = { schemas }

// What an operation does not have needs no line, and nobody reads the headers of an answer.
const made = astToString(await openapiTS(api, { defaultNonNullable: false }))
  .replaceAll(/^ +(\w+)\?: never;\n/gm, '')
  .replaceAll(/^ +headers: \{\n +\[name: string\]: unknown;\n +\};\n/gm, '')
  .replaceAll(/^ +parameters: \{\n +\};\n/gm, '')
  .replaceAll(/^ +\/\*\* @description Successful Response \*\/\n/gm, '')
writeFileSync(new URL('src/schema.ts', HERE), `// Made by scripts/types.mjs out of openapi.json.\n\n${made}`)
