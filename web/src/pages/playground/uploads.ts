import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { send } from '@/api/client'
import { filesKey } from '@/parts/chat/workspace'

export type Upload = { number: number; name: string; error?: string }

let count = 0

/** Files on their way up, and those that were refused. The server reads a file before it answers. */
export function useUploads(workspace: string) {
  const client = useQueryClient()
  const [uploads, setUploads] = useState<Upload[]>([])
  const dismiss = useCallback(
    (number: number) => setUploads((now) => now.filter((one) => one.number !== number)),
    [],
  )
  const upload = useCallback(
    async (files: Iterable<File>) => {
      for (const file of files) {
        const number = ++count
        setUploads((now) => [...now, { number, name: file.name }])
        const body = new FormData()
        body.append('file', file)
        try {
          await send(`/chat/api/workspaces/${workspace}/files`, {
            method: 'POST',
            headers: { accept: 'application/json' },
            body,
          })
          dismiss(number)
          await client.invalidateQueries({ queryKey: filesKey(workspace) })
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error)
          setUploads((now) => now.map((one) => (one.number === number ? { ...one, error: message } : one)))
        }
      }
    },
    [client, dismiss, workspace],
  )
  return { uploads, upload, dismiss }
}
