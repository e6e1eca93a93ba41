export const CLIENTS = ['desktop', 'code', 'cursor'] as const
export type Client = (typeof CLIENTS)[number]
export const CLIENT_NAMES: Record<Client, string> = {
  desktop: 'Claude Desktop',
  code: 'Claude Code',
  cursor: 'Cursor',
}
export const MEMORIES = { capsules: '/v1/mcp', graphs: '/v1/graph/mcp' } as const
export type Memory = keyof typeof MEMORIES

const pretty = (value: unknown) => JSON.stringify(value, null, 2)
const named = (memory: Memory) => (memory === 'capsules' ? 'keepstone' : 'keepstone-graph')

/** Whether a key may be sent there as it is: to this machine, or under https. */
export function isPrivate(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

/** For programs that start a command: mcp-remote, which speaks to the address. */
export function remote(memory: Memory, url: string, key: string): string {
  const args = ['-y', 'mcp-remote', url, '--header', `Authorization: Bearer ${key}`]
  if (!isPrivate(url)) args.push('--allow-http')
  return pretty({ mcpServers: { [named(memory)]: { command: 'npx', args } } })
}

/** For programs that take an address. */
export function direct(memory: Memory, url: string, key: string, type?: 'http'): string {
  const server = { ...(type && { type }), url, headers: { Authorization: `Bearer ${key}` } }
  return pretty({ mcpServers: { [named(memory)]: server } })
}

export function command(memory: Memory, url: string, key: string): string {
  return `claude mcp add --transport http ${named(memory)} ${url} --header "Authorization: Bearer ${key}"`
}
