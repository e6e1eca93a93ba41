import { ActionIcon, Select, Switch } from '@mantine/core'
import { useDisclosure, useLocalStorage, useMediaQuery } from '@mantine/hooks'
import { IconHistory } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useAddress } from '@/parts/address'
import { ListDrawer } from '@/parts/chat/ListDrawer'
import { useModels } from '@/parts/chat/models'
import { NoModel } from '@/parts/chat/NoModel'
import { messagesQuery, useWorkspaces, workspaceName } from '@/parts/chat/workspace'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { Skeletons } from '@/parts/Skeletons'
import { type Exchange, exchangesOf } from './exchanges'
import { History } from './History'
import { Panes } from './Panes'
import classes from './Quorum.module.css'
import { useQuorumWords } from './quorum.words'

const CHAT = /^chat_[a-z0-9]{24}$/

/** Two models on one question. Where both chats are kept, the address leads back to them. */
export default function Quorum() {
  const words = useQuorumWords()
  const models = useModels()
  const [listed, list] = useDisclosure()
  const roomForHistory = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false })
  const workspaces = useWorkspaces()
  const [query, change] = useAddress()
  const left = query.get('left')?.match(CHAT)?.[0]
  const right = query.get('right')?.match(CHAT)?.[0]
  const leave = () => change({ left: null, right: null })
  const [session, setSession] = useState(0)
  const own = useRef(`${left} ${right}`)
  // Another address is another quorum, unless it is the one that has just begun here.
  useEffect(() => {
    const now = `${left} ${right}`
    if (now === own.current) return
    own.current = now
    setSession((before) => before + 1)
  }, [left, right])
  const [kept, setKept] = useLocalStorage({
    key: 'keepstone.quorum.place',
    defaultValue: { memory: true, workspace: '' },
    getInitialValueInEffect: false,
  })
  const [loaded, setLoaded] = useState<{ session: number; left: Exchange[]; right: Exchange[] }>()
  const loading = loaded?.session !== session
  const first = useQuery({ ...messagesQuery(left ?? ''), enabled: loading && left !== undefined })
  const second = useQuery({ ...messagesQuery(right ?? ''), enabled: loading && right !== undefined })
  const waiting =
    (left && (first.isPending || first.isFetching)) || (right && (second.isPending || second.isFetching))
  useEffect(() => {
    if (waiting || !loading) return
    setLoaded({
      session,
      left: left ? exchangesOf(first.data ?? []) : [],
      right: right ? exchangesOf(second.data ?? []) : [],
    })
  }, [waiting, loading, session, left, right, first.data, second.data])

  const all = workspaces.data ?? []
  const current = all.find((one) => one.id === kept.workspace) ?? all.find((one) => one.is_default) ?? all[0]
  const error = first.error ?? second.error ?? workspaces.error
  const fresh = () => {
    list.close()
    if (left || right) leave()
    else setSession(session + 1)
  }
  const history = <History here={right} onNew={fresh} />
  return (
    <Page
      title={words('title')}
      about={words('about')}
      full
      actions={
        models.connected && (
          <>
            {!roomForHistory && (
              <ActionIcon
                variant="default"
                size="lg"
                aria-label={words('showHistory')}
                title={words('showHistory')}
                onClick={list.open}
              >
                <IconHistory size={18} stroke={1.6} aria-hidden />
              </ActionIcon>
            )}
            {all.length > 1 && kept.memory && (
              <Select
                aria-label={words('workspace')}
                size="sm"
                w={{ base: 120, sm: 190 }}
                value={current?.id}
                onChange={(workspace) => workspace && setKept({ ...kept, workspace })}
                data={all.map((one) => ({
                  value: one.id,
                  label: workspaceName(one, words('defaultWorkspace')),
                }))}
                allowDeselect={false}
                disabled={left !== undefined}
              />
            )}
            <Switch
              label={words('memory')}
              checked={kept.memory}
              onChange={(event) => setKept({ ...kept, memory: event.currentTarget.checked })}
              title={words(kept.memory ? 'memoryHint' : 'memoryOff')}
            />
          </>
        )
      }
    >
      {!models.connected && !models.pending && <NoModel />}
      {models.connected && (
        <div className={roomForHistory ? classes.page : `${classes.page} ${classes.alone}`}>
          {roomForHistory && history}
          {error && <Failed error={error} retry={leave} />}
          {!error && (models.pending || loading || !current || !loaded) && <Skeletons />}
          {!error && !models.pending && current && loaded && !loading && (
            <Panes
              key={session}
              chats={{ left, right }}
              before={loaded}
              memory={kept.memory}
              workspace={current.id}
              onBegun={(chats) => {
                own.current = `${chats.left} ${chats.right}`
                change(chats, { replace: true })
              }}
            />
          )}
        </div>
      )}
      {!roomForHistory && (
        <ListDrawer opened={listed} onClose={list.close} title={words('history')}>
          {history}
        </ListDrawer>
      )}
    </Page>
  )
}
