/** The TypeScript client of Keepstone: long-term memory for AI chats and agents. */

export { DEFAULT_URL, Keepstone, type KeepstoneOptions } from './client.js'
export * from './errors.js'
export type { ServerEvent } from './events.js'
export { type Page, Pages } from './pages.js'
export { type ChatEvent, type InjectedMemory, Reply } from './resources/chats.js'
export type { Retries } from './retries.js'
export type { Answer, CallOptions, ItemOf, ListPath, Method, Path, Schemas, Upload, Wanted } from './routes.js'
