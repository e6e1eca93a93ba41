import { api, ok } from '@/api/client'
import type { Language } from '@/app/words'

type Kept = [name: string, type: string, content: string, metadata: Record<string, unknown>]

const NODES: Record<Language, Kept[]> = {
  en: [
    ['goal', 'decision', 'Q3 priority is improving API response times to under 100 ms', { quarter: 'Q3', team: 'backend' }],
    ['cost', 'decision', 'Secondary Q3 priority is reducing infrastructure costs by 20 %', { quarter: 'Q3', team: 'platform' }],
    ['cache', 'fact', 'The session cache answers nine of ten requests for a profile', { team: 'backend' }],
    ['queue', 'decision', 'Background jobs run on Postgres, without a message broker', { team: 'platform' }],
    ['sarah', 'person', 'Sarah leads the backend team', { team: 'backend' }],
    ['mail', 'preference', 'Sarah prefers e-mail over phone calls', { person: 'Sarah' }],
    ['outage', 'event', 'On the 3rd of May the gateway was down for eleven minutes', { severity: 2 }],
  ],
  zh: [
    ['goal', 'decision', '第三季度的重点是把 API 响应时间降到 100 毫秒以内', { quarter: 'Q3', team: 'backend' }],
    ['cost', 'decision', '第三季度的次要重点是把基础设施成本降低 20%', { quarter: 'Q3', team: 'platform' }],
    ['cache', 'fact', '会话缓存能应付十个用户资料请求中的九个', { team: 'backend' }],
    ['queue', 'decision', '后台任务在 Postgres 上运行，不使用消息中间件', { team: 'platform' }],
    ['sarah', 'person', '莎拉负责后端团队', { team: 'backend' }],
    ['mail', 'preference', '莎拉更喜欢电子邮件而不是电话', { person: '莎拉' }],
    ['outage', 'event', '五月三日网关中断了十一分钟', { severity: 2 }],
  ],
} // biome-ignore format: a row a node

const EDGES: [from: string, type: string, to: string][] = [
  ['goal', 'relies_on', 'cache'],
  ['sarah', 'owns', 'goal'],
  ['sarah', 'has', 'mail'],
  ['cost', 'led_to', 'queue'],
  ['outage', 'led_to', 'goal'],
]

/** Real nodes and edges, to try recall and the picture with; they can be forgotten like any others. */
export async function storeExample(graph: string, language: Language): Promise<void> {
  const path = { graph_id: graph }
  const ids = new Map<string, string>()
  for (const [name, node_type, content, metadata] of NODES[language]) {
    const kept = await ok(
      api.POST('/v1/graphs/{graph_id}/nodes', {
        params: { path },
        body: { content, node_type, metadata, supersedes: [], supersede: 'off' },
      }),
    )
    ids.set(name, kept.id)
  }
  for (const [from, edge_type, to] of EDGES) {
    await ok(
      api.POST('/v1/graphs/{graph_id}/edges', {
        params: { path },
        body: { from_id: ids.get(from) as string, to_id: ids.get(to) as string, edge_type, metadata: {} },
      }),
    )
  }
}
