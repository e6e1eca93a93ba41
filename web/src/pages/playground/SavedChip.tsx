import { Button } from '@mantine/core'
import { IconBookmarkFilled } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useChatWords } from '@/parts/chat/chat.words'
import { memoriesKey, workspacesQuery } from '@/parts/chat/workspace'
import classes from './Did.module.css'

/** "Saved: …", with a button that takes it back. Without a text it was deleted elsewhere, and can be brought back. */
export function SavedChip({ id, text, workspace }: { id: string; text?: string; workspace: string }) {
  const words = useChatWords()
  const client = useQueryClient()
  const [known, setKnown] = useState(text)
  if (text !== undefined && text !== known) setKnown(text)
  const [undone, setGone] = useState<boolean>()
  const gone = undone ?? text === undefined
  const params = { path: { workspace_id: workspace, memory_id: id } }
  const change = useMutation({
    mutationFn: async (away: boolean) => {
      if (away) await ok(api.DELETE('/chat/api/workspaces/{workspace_id}/memories/{memory_id}', { params }))
      else await ok(api.POST('/chat/api/workspaces/{workspace_id}/memories/{memory_id}/restore', { params }))
      return away
    },
    onSuccess: (away) => {
      setGone(away)
      void client.invalidateQueries({ queryKey: memoriesKey(workspace) })
      void client.invalidateQueries({ queryKey: workspacesQuery.queryKey })
    },
  })
  const told = known === undefined ? words('undoneSince') : words(gone ? 'undone' : 'saved', { text: known })
  return (
    <span className={gone ? `${classes.chip} ${classes.undone}` : classes.chip}>
      <IconBookmarkFilled size={12} aria-hidden style={{ flex: 'none' }} />
      <span title={told}>{told}</span>
      <Button
        size="compact-xs"
        variant="subtle"
        radius="xl"
        flex="none"
        loading={change.isPending}
        aria-label={gone ? undefined : words('undoNamed', { text: known ?? '' })}
        onClick={() => change.mutate(!gone)}
      >
        {words(gone ? 'bringBack' : 'undo')}
      </Button>
    </span>
  )
}
