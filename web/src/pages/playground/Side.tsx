import { ActionIcon, SegmentedControl } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import type { Workspace } from '@/parts/chat/workspace'
import { Files } from './Files'
import { Memories } from './Memories'
import type { Side as Name } from './place'
import { usePlaygroundWords } from './playground.words'
import classes from './Side.module.css'

/** Beside the conversation: what the workspace remembers, and its files. */
export function Side({
  side,
  workspace,
  memory,
  onSide,
}: {
  side: Name
  workspace: Workspace
  memory?: string
  onSide: (side: Name | null) => void
}) {
  const words = usePlaygroundWords()
  return (
    <aside className={classes.side} aria-label={words('side')}>
      <div className={classes.head}>
        <SegmentedControl
          flex={1}
          size="sm"
          aria-label={words('side')}
          value={side}
          onChange={(chosen) => onSide(chosen as Name)}
          data={[
            { value: 'memories', label: words('memories') },
            { value: 'files', label: words('files') },
          ]}
        />
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={words('closeSide')}
          title={words('closeSide')}
          onClick={() => onSide(null)}
        >
          <IconX size={18} stroke={1.6} aria-hidden />
        </ActionIcon>
      </div>
      <div className={classes.panel}>
        {side === 'memories' ? (
          <Memories key={workspace.id} workspace={workspace} chosen={memory} />
        ) : (
          <Files key={workspace.id} workspace={workspace} />
        )}
      </div>
    </aside>
  )
}
