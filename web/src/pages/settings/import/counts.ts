import { useFormat } from '@/app/session'
import { useImportWords } from './import.words'

const KNOWN = ['conversations', 'messages', 'notes', 'capsules', 'memories'] as const

/** Numbers by kind, in words: "12 conversations, 80 messages". */
export function useCounts(): (counts: Record<string, number>) => string[] {
  const words = useImportWords()
  const format = useFormat()
  return (counts) =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => {
        const known = KNOWN.find((one) => one === kind)
        return words(known ? `count_${known}` : 'count_else', { count, number: format.number(count), kind })
      })
}
