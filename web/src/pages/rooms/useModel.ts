import { useModels } from '@/parts/chat/models'

/** Whether a language model is connected; undefined while that is being asked. */
export function useModel(): boolean | undefined {
  const { connected, pending } = useModels()
  return pending ? undefined : connected
}
