import { Box, Button, Menu, SegmentedControl } from '@mantine/core'
import { IconChevronDown, IconMessages, IconPlus, IconSnowflake, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { Link } from 'react-router'
import { useNew } from '@/app/keys/keys'
import { useFormat, useMe } from '@/app/session'
import { CuratorDialog } from '@/parts/capsules/Curator'
import { usageQuery } from '@/parts/capsules/queries'
import { type CapsuleDraft, SaveSheet } from '@/parts/capsules/SaveSheet'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { Skeletons } from '@/parts/Skeletons'
import { Away } from './Away'
import { List } from './list/List'
import { ChoosingProvider } from './list/select/choosing'
import { NoCapsules } from './NoCapsules'
import { OrderProvider } from './order'
import { usePlace, type View } from './place'
import classes from './Recall.module.css'
import { Room } from './Room'
import { useRecallWords } from './recall.words'
import { Sheet } from './sheet/Sheet'

const Welcome = lazy(() => import('@/pages/welcome/Welcome').then((one) => ({ default: one.Welcome })))
const Timeline = lazy(() => import('./timeline/Timeline'))
const Constellation = lazy(() => import('./constellation/Constellation'))

const ICON = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

/** What one has kept: the list, the timeline, the map, the trash. */
export default function Recall() {
  return (
    <OrderProvider>
      <ChoosingProvider>
        <RecallPage />
      </ChoosingProvider>
    </OrderProvider>
  )
}

function RecallPage() {
  const words = useRecallWords()
  const format = useFormat()
  const place = usePlace()
  const usage = useQuery(usageQuery)
  const [draft, setDraft] = useState<CapsuleDraft | null>(null)
  const [curating, setCurating] = useState(false)
  const { project } = place.filters
  const add = () =>
    setDraft({ content_md: '', project_id: project.startsWith('proj_') ? project : undefined })
  useNew(add)
  const { count = 0, bytes_used = 0, quota_bytes = null, in_trash = 0, in_cold = 0 } = usage.data ?? {}
  const numbers = { count, number: format.number(count), used: format.bytes(bytes_used) }
  const away = place.view === 'trash' || place.view === 'cold'
  // The list does not wait to be told how much there is.
  const newcomer = usage.data !== undefined && count === 0
  const user = useMe()?.user
  // Who has kept something before they saw the welcome needs none; who has begun it sees it through.
  const begun = user ? user.welcome > 0 && user.welcome < 3 : false
  const welcomed = user && !away && (begun || (newcomer && in_trash + in_cold === 0 && user.welcome === 0))
  return (
    <Page
      title={words('title')}
      about={
        count === 0
          ? undefined
          : quota_bytes === null
            ? words('usage', numbers)
            : words('usageOf', { ...numbers, quota: format.bytes(quota_bytes) })
      }
      actions={
        <>
          {usage.data && <Room used={bytes_used} quota={quota_bytes} />}
          <Button.Group>
            <Button leftSection={<IconPlus {...ICON} />} onClick={add}>
              {words('add')}
            </Button>
            <Menu position="bottom-end" width={260}>
              <Menu.Target>
                <Button className={classes.ways} aria-label={words('otherWays')}>
                  <IconChevronDown {...ICON} />
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item leftSection={<IconMessages {...ICON} />} onClick={() => setCurating(true)}>
                  {words('fromChat')}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </Button.Group>
        </>
      }
      aside={<Sheet />}
    >
      {welcomed && (
        <Suspense fallback={<Skeletons lines={1} height={420} />}>
          <Welcome user={user} />
        </Suspense>
      )}
      {!away && (!newcomer || in_trash > 0 || in_cold > 0) && (
        <Box className={classes.bar}>
          {!newcomer ? (
            <SegmentedControl
              aria-label={words('view')}
              value={place.view}
              onChange={(view) => place.set({ view: view === 'list' ? null : view })}
              data={(['list', 'timeline', 'constellation'] satisfies View[]).map((view) => ({
                value: view,
                label: words(view),
              }))}
            />
          ) : (
            <span />
          )}
          <div className={classes.away}>
            {in_cold > 0 && (
              <Button
                component={Link}
                to={place.with({ view: 'cold' })}
                variant="subtle"
                color="gray"
                size="compact-sm"
                leftSection={<IconSnowflake {...ICON} />}
              >
                <span className={classes.word}>{words('cold')}</span> {format.number(in_cold)}
              </Button>
            )}
            {in_trash > 0 && (
              <Button
                component={Link}
                to={place.with({ view: 'trash' })}
                variant="subtle"
                color="gray"
                size="compact-sm"
                leftSection={<IconTrash {...ICON} />}
              >
                <span className={classes.word}>{words('trash')}</span> {format.number(in_trash)}
              </Button>
            )}
          </div>
        </Box>
      )}
      {away ? (
        <Away key={place.view} cold={place.view === 'cold'} />
      ) : newcomer ? (
        !welcomed && user && <NoCapsules onNew={add} />
      ) : place.view === 'constellation' ? (
        usage.data ? (
          <Suspense fallback={<Skeletons lines={1} height={480} />}>
            <Constellation count={count} />
          </Suspense>
        ) : usage.error ? (
          <Failed error={usage.error} retry={usage.refetch} />
        ) : (
          <Skeletons lines={1} height={480} />
        )
      ) : (
        <>
          {place.view === 'timeline' && (
            <Suspense fallback={<div className={classes.timeline} />}>
              <Timeline />
            </Suspense>
          )}
          <List />
        </>
      )}
      <SaveSheet draft={draft} onClose={() => setDraft(null)} />
      <CuratorDialog opened={curating} onClose={() => setCurating(false)} />
    </Page>
  )
}
