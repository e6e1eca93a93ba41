import { defineWords } from '@/app/words'

export const useRelevanceWords = defineWords('relevance', {
  en: {
    veryHigh: 'very likely what was asked for',
    high: 'likely what was asked for',
    moderate: 'more likely than not what was asked for',
    low: 'less likely than not what was asked for',
    relevance: 'Relevance {{value}}: {{meaning}}',
    copyCurl: 'Copy the call',
    copied: 'Copied',
    sameCall: 'The same call with curl',
  },
  zh: {
    veryHigh: '几乎就是所问的内容',
    high: '很可能是所问的内容',
    moderate: '多半是所问的内容',
    low: '多半不是所问的内容',
    relevance: '相关度 {{value}}：{{meaning}}',
    copyCurl: '复制这条命令',
    copied: '已复制',
    sameCall: '用 curl 发出同样的请求',
  },
})
