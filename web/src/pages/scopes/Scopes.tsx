import { ActionIcon, Button, Group, Modal, Stack, Tabs, TextInput } from '@mantine/core'
import { useDebouncedValue, useDisclosure, useMediaQuery } from '@mantine/hooks'
import { IconArrowLeft } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Link } from 'react-router'
import { spoken } from '@/app/words'
import { useAddress } from '@/parts/address'
import { Empty } from '@/parts/Empty'
import { Page } from '@/parts/Page'
import { failed } from '@/parts/told'
import { Ask } from './Ask'
import { useChanged, useScopes } from './calls'
import { EXAMPLE, ingestExample } from './example'
import { Ingest } from './Ingest'
import { People } from './People'
import { Recall } from './Recall'
import { ScopeList } from './ScopeList'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'
import { Transcript } from './Transcript'

const BESIDE = ['ask', 'recall', 'people', 'ingest'] as const
const TYPING = 200 // milliseconds

/** Conversations: which there are, what was said in one, and beside it what it answers and what is known of people. */
export default function Scopes() {
  const words = useScopesWords()
  const [params, change] = useAddress()
  const wide = useMediaQuery('(min-width: 75em)', undefined, { getInitialValueInEffect: false })
  const changed = useChanged()
  const [q, setQ] = useState('')
  const [sought] = useDebouncedValue(q.trim(), TYPING)
  const known = useScopes(sought)
  const [naming, name] = useDisclosure()
  const open = params.get('scope') ?? (wide ? (known.scopes[0]?.scope_id ?? null) : null)
  const example = useMutation({
    mutationFn: () => ingestExample(spoken()),
    onSuccess: async () => {
      await changed()
      change({ scope: EXAMPLE, tab: 'ask' })
    },
    onError: failed,
  })
  const none = known.found.isSuccess && known.scopes.length === 0 && !sought && open === null
  return (
    <Page
      title={words('title')}
      about={words('about')}
      full={!none}
      actions={
        open !== null && (
          <Button
            component={Link}
            variant="default"
            size="sm"
            to={`/dashboard/traces?${new URLSearchParams({ space: `scope:${open}` })}`}
          >
            {words('whatWasAsked')}
          </Button>
        )
      }
    >
      {none ? (
        <Empty
          title={words('emptyTitle')}
          action={
            <Group justify="center">
              <Button onClick={() => example.mutate()} loading={example.isPending}>
                {words('makeExample')}
              </Button>
              <Button variant="default" onClick={name.open}>
                {words('openOwn')}
              </Button>
            </Group>
          }
        >
          {words('empty')}
        </Empty>
      ) : (
        <div className={classes.board}>
          {(wide || open === null) && (
            <ScopeList known={known} q={q} onFind={setQ} open={open} onNew={name.open} />
          )}
          {open !== null && <Open key={open} scope={open} wide={wide ?? true} />}
        </div>
      )}
      <Naming
        opened={naming}
        onClose={name.close}
        onName={(scope) => {
          name.close()
          change({ scope, tab: 'ingest', message: null, q: null })
        }}
      />
    </Page>
  )
}

/** One conversation with what stands beside it; where there is little room, one after the other. */
function Open({ scope, wide }: { scope: string; wide: boolean }) {
  const words = useScopesWords()
  const [params, change] = useAddress()
  const tabs = wide ? BESIDE : (['talk', ...BESIDE] as const)
  const asked = params.get('tab')
  const tab = tabs.find((one) => one === asked) ?? tabs[0]
  const show = (id: string) => change({ message: id, ...(!wide && { tab: 'talk' }) })
  const transcript = <Transcript scope={scope} onAdd={() => change({ tab: 'ingest' })} />
  return (
    <>
      {wide && transcript}
      <div className={classes.beside}>
        {!wide && (
          <Group gap="xs" wrap="nowrap" mb="xs">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={words('backToList')}
              onClick={() => change({ scope: null, tab: null, message: null, q: null })}
            >
              <IconArrowLeft size={18} stroke={1.6} aria-hidden />
            </ActionIcon>
            <b className={classes.name}>{scope}</b>
          </Group>
        )}
        <Tabs
          value={tab}
          onChange={(value) => change({ tab: value }, { replace: true })}
          className={classes.tabs}
          keepMounted={false}
        >
          <Tabs.List aria-label={words('tabs')} mb="md" className={classes.tabList}>
            {tabs.map((one) => (
              <Tabs.Tab key={one} value={one}>
                {words(one)}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {!wide && (
            <Tabs.Panel value="talk" className={classes.talkPanel}>
              {transcript}
            </Tabs.Panel>
          )}
          <Tabs.Panel value="ask" keepMounted>
            <Ask scope={scope} onOpen={show} />
          </Tabs.Panel>
          <Tabs.Panel value="recall" keepMounted>
            <Recall scope={scope} onOpen={show} />
          </Tabs.Panel>
          <Tabs.Panel value="people">
            <People scope={scope} onOpen={show} />
          </Tabs.Panel>
          <Tabs.Panel value="ingest" keepMounted>
            <Ingest scope={scope} onAsk={() => change({ tab: 'ask' })} />
          </Tabs.Panel>
        </Tabs>
      </div>
    </>
  )
}

function Naming({
  opened,
  onClose,
  onName,
}: {
  opened: boolean
  onClose: () => void
  onName: (scope: string) => void
}) {
  const words = useScopesWords()
  const [name, setName] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim()) onName(name.trim())
  }
  return (
    <Modal opened={opened} onClose={onClose} title={words('newScope')}>
      <form onSubmit={submit}>
        <Stack gap="md">
          <TextInput
            label={words('scope')}
            description={words('scopeHint')}
            placeholder={words('scopePlaceholder')}
            value={name}
            maxLength={255}
            data-autofocus
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Group justify="flex-end">
            <Button type="submit" disabled={!name.trim()}>
              {words('begin')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
