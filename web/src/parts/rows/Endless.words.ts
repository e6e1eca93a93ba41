import { defineWords } from '@/app/words'

export const useEndlessWords = defineWords('endless', {
  en: { more: 'Show more' },
  zh: { more: '显示更多' },
})
