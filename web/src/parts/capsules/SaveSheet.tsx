import { Drawer } from '@mantine/core'
import { useState } from 'react'
import type { Schema } from '@/api/client'
import { useCapsuleWords } from './capsules.words'
import { Discard } from './Discard'
import { First } from './First'
import { Save } from './Save'

type Sent = Schema<'CapsuleIn'>

/** What is about to be kept, in the words of the API; only the content is needed (it may be empty: a new one). */
export type CapsuleDraft = Pick<Sent, 'content_md'> & Partial<Omit<Sent, 'content_md'>>

/** The sheet in which something is kept. It stays mounted: a draft opens it, null closes it. */
export function SaveSheet({
  draft,
  onClose,
  onSaved,
}: {
  draft: CapsuleDraft | null
  onClose: () => void
  onSaved?: (capsule: Schema<'CreatedOut'>) => void
}) {
  const words = useCapsuleWords()
  const [unsaved, setUnsaved] = useState(false)
  const [asking, setAsking] = useState(false)
  const [first, setFirst] = useState<string | null>(null)
  const close = () => {
    setUnsaved(false)
    setAsking(false)
    onClose()
  }
  return (
    <>
      <Drawer
        opened={draft !== null}
        closeOnEscape={!asking}
        onClose={() => (unsaved ? setAsking(true) : close())}
        position="right"
        size="min(560px, 100vw)"
        title={words(draft?.content_md ? 'keep' : 'keepNew')}
        styles={{ title: { fontWeight: 600, fontSize: 'var(--mantine-font-size-lg)' } }}
        closeButtonProps={{ 'aria-label': words('close') }}
      >
        {draft && (
          <Save
            draft={draft}
            onUnsaved={setUnsaved}
            onCancel={() => (unsaved ? setAsking(true) : close())}
            onSaved={(capsule, isFirst) => {
              close()
              if (isFirst) setFirst(capsule.id)
              onSaved?.(capsule)
            }}
          />
        )}
      </Drawer>
      <Discard opened={asking} onKeep={() => setAsking(false)} onDiscard={close} />
      <First id={first} onClose={() => setFirst(null)} />
    </>
  )
}
