import { ApiError } from '@/api/client'
import { useRoomsWords } from './rooms.words'

/** Why something could not be said. Not everybody speaks as an agent, which is told with its `name`. */
export function useRefusal() {
  const words = useRoomsWords()
  return (fault: Error, name: string | undefined) =>
    name !== undefined && fault instanceof ApiError && fault.status === 403
      ? words('notYourVoice', { name })
      : fault.message
}
