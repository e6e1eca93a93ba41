import {
  IconBook2,
  IconBrain,
  IconCirclePlus,
  IconDeviceDesktop,
  IconFileImport,
  IconKey,
  IconKeyboard,
  IconLanguage,
  IconLogout,
  IconMoon,
  IconPackageExport,
  IconPlugConnected,
  IconReportAnalytics,
  IconSun,
  IconUser,
  IconUsers,
} from '@tabler/icons-react'

/** What people call a page besides its name, in either language. */
// biome-ignore format: a table
export const PAGE_NAMES: Record<string, readonly string[]> = {
  recall: ['recall', '回忆', 'capsules', 'home', 'notes', 'vault', 'timeline', 'constellation', '胶囊', '时间线', '星图'],
  playground: ['playground', '对话', 'chats', 'workspaces', 'assistant', '聊天', '工作区'],
  quorum: ['quorum', '对比', 'compare models', 'several models', '模型对比'],
  rooms: ['rooms', '房间', 'agents', 'direct messages', 'dm', '代理', '私信'],
  graphs: ['graphs', '图谱', 'nodes', 'knowledge graph', '节点', '知识图谱'],
  scopes: ['scopes', '范围', 'ask', 'ingest', 'transcripts', 'conversations'],
  memory: ['all memory', '全部记忆', 'memories', 'browse', 'everything', '记忆'],
  traces: ['traces', '追踪', 'why', 'what memory did', 'log', '记忆做了什么'],
  trash: ['trash', '回收站', 'deleted', 'bin', 'restore', 'undo', '已删除', '恢复'],
  settings: ['settings', '设置', 'preferences', 'options', 'configuration', '偏好', '选项'],
  pricing: ['pricing', '价格', 'plans', 'upgrade', 'billing', '套餐', '升级'],
  console: ['console', '控制台', 'admin', 'operator', 'users', '管理'],
}

type Does =
  | { make: string } // the page on which one is made
  | { section: string; of?: 'owner' | 'admin' } // of the settings
  | { theme: 'light' | 'dark' | 'auto' }
  | { speak: string }
  | { call: 'help' | 'reference' | 'signOut' }

/** What can be done from anywhere; `first`: offered before anything is typed. */
// biome-ignore format: a table
export const ACTIONS = [
  { id: 'newCapsule', icon: IconCirclePlus, first: true, does: { make: 'recall' }, also: ['new capsule', 'add capsule', 'save', 'remember', 'write a note', '新建胶囊', '添加胶囊', '记住'] },
  { id: 'newChat', icon: IconCirclePlus, first: true, does: { make: 'playground' }, also: ['new chat', 'start a chat', '新建对话', '新聊天'] },
  { id: 'newRoom', icon: IconCirclePlus, first: true, does: { make: 'rooms' }, also: ['new room', 'make a room', 'create room', '新建房间'] },
  { id: 'newNode', icon: IconCirclePlus, does: { make: 'graphs' }, also: ['new node', 'store a node', 'add node', '新建节点'] },
  { id: 'importData', icon: IconFileImport, first: true, does: { section: 'data' }, also: ['import', 'upload', 'bring in', 'chatgpt', 'claude', 'mem0', 'migrate', '导入', '迁移'] },
  { id: 'models', icon: IconBrain, does: { section: 'models', of: 'admin' }, also: ['language model', 'llm', 'providers', 'openai', 'anthropic', 'embeddings', '语言模型', '模型', '提供商'] },
  { id: 'profilePage', icon: IconUser, does: { section: 'profile' }, also: ['profile', 'password', 'second factor', 'two factor', '2fa', 'time zone', 'sessions', '个人资料', '密码', '双重验证', '时区'] },
  { id: 'apiKeys', icon: IconKey, does: { section: 'keys' }, also: ['keys', 'api keys', 'token', 'new key', '密钥'] },
  { id: 'mcp', icon: IconPlugConnected, does: { section: 'mcp' }, also: ['mcp', 'connect', 'claude desktop', 'cursor', '连接'] },
  { id: 'usage', icon: IconReportAnalytics, does: { section: 'usage' }, also: ['usage', 'credits', 'quota', 'spent', 'plan', '用量', '额度', '套餐'] },
  { id: 'account', icon: IconUsers, does: { section: 'account', of: 'owner' }, also: ['account', 'people', 'members', 'audit', 'invite', '账户', '成员', '审计'] },
  { id: 'data', icon: IconPackageExport, does: { section: 'data' }, also: ['data', 'export', 'archive', 'download', 'delete all', '数据', '导出', '下载'] },
  { id: 'dark', icon: IconMoon, does: { theme: 'dark' }, also: ['dark theme', 'dark mode', 'night', 'theme', '深色', '夜间', '主题'] },
  { id: 'light', icon: IconSun, does: { theme: 'light' }, also: ['light theme', 'light mode', 'day', 'theme', '浅色', '主题'] },
  { id: 'auto', icon: IconDeviceDesktop, does: { theme: 'auto' }, also: ['system theme', 'automatic theme', 'theme', '跟随系统', '主题'] },
  { id: 'toEnglish', icon: IconLanguage, does: { speak: 'en' }, also: ['english', 'language', '英文', '英语', '语言'] },
  { id: 'toChinese', icon: IconLanguage, does: { speak: 'zh' }, also: ['chinese', 'language', '中文', '语言'] },
  { id: 'keys', icon: IconKeyboard, first: true, does: { call: 'help' }, also: ['keyboard shortcuts', 'shortcuts', 'hotkeys', 'help', '快捷键', '帮助'] },
  { id: 'reference', icon: IconBook2, does: { call: 'reference' }, also: ['api reference', 'docs', 'documentation', 'openapi', '文档', '参考'] },
  { id: 'signOut', icon: IconLogout, does: { call: 'signOut' }, also: ['sign out', 'log out', 'logout', 'leave', '退出', '登出', '注销'] },
] as const satisfies readonly { id: string; icon: unknown; first?: true; does: Does; also: readonly string[] }[]
