import { Autocomplete, Button, Group, Stack, Tabs } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { spoken } from '@/app/words'
import { useAddress } from '@/parts/address'
import { Empty } from '@/parts/Empty'
import { Page } from '@/parts/Page'
import { Ask } from './Ask'
import { EXAMPLE, ingestExample } from './example'
import { Ingest } from './Ingest'
import { Recall } from './Recall'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'
import { useScopes } from './useScopes'

const TABS = ['ask', 'recall', 'ingest'] as const

/** Try the three calls of a scope: ingest, recall, ask. */
export default function Scopes() {
  const words = useScopesWords()
  const [params, change] = useAddress()
  const [known, remember] = useScopes()
  const [own, setOwn] = useState(false)
  const given = params.get('scope') ?? known[0] ?? ''
  const [typed, setTyped] = useState<string>()
  const scope = (typed ?? given).trim()
  const tab = TABS.find((one) => one === params.get('tab')) ?? (known.length ? 'ask' : 'ingest')
  const example = useMutation({
    mutationFn: () => ingestExample(spoken()),
    onSuccess: () => {
      remember(EXAMPLE)
      setTyped(undefined)
      change({ scope: EXAMPLE, tab: 'ask' })
    },
  })
  const begin = !given && typed === undefined && !own
  const use = (name: string) => {
    setTyped(name)
    if (name.trim()) change({ scope: name.trim() }, { replace: true })
  }
  return (
    <Page title={words('title')} about={words('about')}>
      {begin ? (
        <Empty
          title={words('emptyTitle')}
          action={
            <Group justify="center">
              <Button onClick={() => example.mutate()} loading={example.isPending}>
                {words('makeExample')}
              </Button>
              <Button variant="default" onClick={() => setOwn(true)}>
                {words('openOwn')}
              </Button>
            </Group>
          }
        >
          {words('empty')}
        </Empty>
      ) : (
        <Stack gap="md">
          <div className={classes.card}>
            <Autocomplete
              label={words('scope')}
              description={words('scopeHint')}
              placeholder={words('scopePlaceholder')}
              data={known}
              filter={({ options }) => options}
              value={typed ?? given}
              onChange={use}
              maxLength={255}
            />
          </div>
          <Tabs value={tab} onChange={(value) => change({ tab: value }, { replace: true })} keepMounted>
            <Tabs.List aria-label={words('tabs')} mb="md">
              {TABS.map((one) => (
                <Tabs.Tab key={one} value={one}>
                  {words(one)}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="ask">
              <Ask key={scope} scope={scope} remember={remember} />
            </Tabs.Panel>
            <Tabs.Panel value="recall">
              <Recall key={scope} scope={scope} remember={remember} />
            </Tabs.Panel>
            <Tabs.Panel value="ingest">
              <Ingest scope={scope} remember={remember} onAsk={() => change({ tab: 'ask' })} />
            </Tabs.Panel>
          </Tabs>
        </Stack>
      )}
    </Page>
  )
}
