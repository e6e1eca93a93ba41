import { defineWords } from '@/app/words'

export const useSearchFieldWords = defineWords('searchField', {
  en: { clear: 'Clear the search' },
  zh: { clear: '清除搜索' },
})
