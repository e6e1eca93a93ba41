import { ActionIcon, Button, Group, Menu, Select, Stack, Textarea, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { IconPaperclip, IconPlayerStop, IconSend2, IconSparkles } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import type { Schema } from '@/api/client'
import { useAddress } from '@/parts/address'
import { CapsuleChips } from '@/parts/capsules/CapsuleChips'
import { CapsulePicker } from '@/parts/capsules/CapsulePicker'
import { attach, type Capsule } from './capsules'
import { NoModel } from './NoModel'
import { type Place, type Said, say, useRefresh } from './place'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import type { Answering } from './useAnswer'
import { useModel } from './useModel'
import { useRefusal } from './useRefusal'

const MOST = 20 // attachments of a message

/** Say something, as oneself or as an agent; attach capsules; let an agent answer. */
export function Write({
  place,
  agents,
  thread,
  last,
  answering,
  onAnswer,
  onStop,
  onSaid,
}: {
  place: Place
  agents: Schema<'AgentOut'>[]
  thread: string | null
  last: Said | undefined
  answering: Answering | undefined
  onAnswer: (agent: string, to: Said) => void
  onStop: () => void
  onSaid: () => void
}) {
  const words = useRoomsWords()
  const refusal = useRefusal()
  const refresh = useRefresh()
  const model = useModel()
  const [, change] = useAddress()
  const [text, setText] = useState('')
  const [speaker, setSpeaker] = useState('')
  const [capsules, setCapsules] = useState<Capsule[]>([])
  const [picking, picker] = useDisclosure()
  const [hinting, hint] = useDisclosure()
  const send = useMutation({
    // What an agent is to answer one says as oneself, whoever is chosen.
    mutationFn: (answerer?: string) =>
      say(place, {
        text: text.trim(),
        attachments: attach(capsules),
        ...(speaker && !answerer && { agent: speaker }),
        ...(thread && { thread_id: thread }),
      }),
    onSuccess: async (said, answerer) => {
      setText('')
      setCapsules([])
      onSaid()
      await refresh()
      if (answerer) onAnswer(answerer, said)
    },
    onError: (fault) => {
      const name = agents.find((one) => one.slug === speaker)?.name
      notifications.show({ color: 'red', message: refusal(fault, name), autoClose: 8000 })
    },
    meta: { quiet: true },
  })
  const submit = () => {
    if (text.trim() && !send.isPending) send.mutate(undefined)
  }
  const typed = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    submit()
  }
  const answer = (slug: string) => {
    if (model === false) hint.open()
    else if (text.trim()) send.mutate(slug)
    else if (last) onAnswer(slug, last)
  }
  // Whether there is a model is still being asked, or nothing is there to answer.
  const unanswerable = (!last && !text.trim()) || model === undefined || send.isPending
  const [only, ...more] = agents
  return (
    <Stack className={classes.write} gap={8}>
      {capsules.length > 0 && (
        <CapsuleChips
          capsules={capsules}
          onRemove={(id) => setCapsules((before) => before.filter((one) => one.id !== id))}
        />
      )}
      <Group gap={8} align="flex-end" wrap="nowrap">
        <Textarea
          flex={1}
          aria-label={words('say')}
          placeholder={words(thread ? 'sayInThread' : 'say')}
          autosize
          minRows={1}
          maxRows={8}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={typed}
        />
        <Tooltip label={words('attach')}>
          <ActionIcon variant="default" size={36} aria-label={words('attach')} onClick={picker.open}>
            <IconPaperclip size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
        <Tooltip label={words('send')}>
          <ActionIcon
            size={36}
            variant="filled"
            aria-label={words('send')}
            loading={send.isPending}
            disabled={!text.trim()}
            onClick={submit}
          >
            <IconSend2 size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </Group>
      {only && (
        <div className={classes.actions}>
          <Select
            className={classes.speaker}
            size="xs"
            aria-label={words('speakAs')}
            allowDeselect={false}
            value={speaker}
            onChange={(value) => setSpeaker(value ?? '')}
            data={[
              { value: '', label: words('asYou') },
              ...agents.map((one) => ({ value: one.slug, label: words('asAgent', { name: one.name }) })),
            ]}
          />
          <span className={classes.space} />
          <Button
            size="xs"
            px={8}
            variant="subtle"
            disabled={!last}
            onClick={() => change({ prompt: only.slug, for: null })}
          >
            {words('showPrompt')}
          </Button>
          {answering ? (
            <Button
              className={classes.answer}
              size="xs"
              variant="default"
              leftSection={<IconPlayerStop size={14} aria-hidden />}
              onClick={onStop}
            >
              {words('stop')}
            </Button>
          ) : more.length === 0 ? (
            <Button
              className={classes.answer}
              size="xs"
              variant="light"
              disabled={unanswerable}
              leftSection={<IconSparkles size={14} aria-hidden />}
              onClick={() => answer(only.slug)}
            >
              {words('letAnswer', { name: only.name })}
            </Button>
          ) : (
            <Menu position="top-end">
              <Menu.Target>
                <Button
                  className={classes.answer}
                  size="xs"
                  variant="light"
                  disabled={unanswerable}
                  leftSection={<IconSparkles size={14} aria-hidden />}
                >
                  {words('letSomebodyAnswer')}
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                {agents.map((one) => (
                  <Menu.Item key={one.slug} onClick={() => answer(one.slug)}>
                    {one.name}
                  </Menu.Item>
                ))}
              </Menu.Dropdown>
            </Menu>
          )}
        </div>
      )}
      <CapsulePicker
        opened={picking}
        onClose={picker.close}
        picked={capsules.map((one) => one.id)}
        onPick={(one) =>
          setCapsules((before) =>
            before.some((had) => had.id === one.id)
              ? before.filter((had) => had.id !== one.id)
              : [...before, one].slice(0, MOST),
          )
        }
      />
      <NoModel opened={hinting} onClose={hint.close} />
    </Stack>
  )
}
