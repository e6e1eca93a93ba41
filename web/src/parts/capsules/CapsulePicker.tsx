import { Button, Checkbox, Group, Modal, ScrollArea, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import classes from './CapsulePicker.module.css'
import { useCapsuleWords } from './capsules.words'
import { CAPSULES } from './queries'

/** One's capsules to choose from. `onPick` is called for each that is chosen, and again for one that is let go. */
export function CapsulePicker({
  opened,
  onClose,
  onPick,
  picked = [],
}: {
  opened: boolean
  onClose: () => void
  onPick: (capsule: { id: string; title: string }) => void
  picked?: readonly string[]
}) {
  const words = useCapsuleWords()
  const format = useFormat()
  const [asked, setAsked] = useState('')
  const [q] = useDebouncedValue(asked.trim(), 300)
  const found = useQuery({
    queryKey: [...CAPSULES, 'picker', q],
    queryFn: () =>
      ok(
        api.GET('/v1/memory/capsules', {
          params: { query: { q: q || undefined, mode: q ? 'hybrid' : undefined, limit: 30 } },
        }),
      ),
    enabled: opened,
    placeholderData: keepPreviousData,
  })
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={words('pick')}
      size="lg"
      closeButtonProps={{ 'aria-label': words('close') }}
    >
      <Stack gap="sm">
        <TextInput
          aria-label={words('pickSearch')}
          placeholder={words('pickSearch')}
          leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
          value={asked}
          maxLength={2000}
          onChange={(event) => setAsked(event.currentTarget.value)}
          data-autofocus
        />
        {found.isPending && <Waiting />}
        {found.error && <Failed error={found.error} retry={found.refetch} />}
        {found.data && (
          <ScrollArea.Autosize mah="50vh" type="auto" offsetScrollbars="present">
            <div aria-live="polite">
              {!found.isPlaceholderData && found.data.items.length === 0 && (
                <Text c="dimmed" size="sm" py="md" ta="center">
                  {words(q ? 'pickNone' : 'pickEmpty')}
                </Text>
              )}
            </div>
            {found.data.items.map((capsule) => (
              <Checkbox
                key={capsule.id}
                className={classes.one}
                classNames={{ body: classes.body, labelWrapper: classes.words, label: classes.label }}
                checked={picked.includes(capsule.id)}
                onChange={() => onPick({ id: capsule.id, title: capsule.title })}
                label={
                  <>
                    <Text component="span" size="sm" fw={500} truncate display="block">
                      {capsule.title}
                    </Text>
                    <Text component="span" size="xs" c="dimmed" truncate display="block">
                      {[format.day(capsule.created_at), ...capsule.tags.map((tag) => `#${tag}`)].join(' · ')}
                    </Text>
                  </>
                }
              />
            ))}
          </ScrollArea.Autosize>
        )}
        <Group justify="flex-end">
          <Button onClick={onClose}>{words('pickDone')}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
