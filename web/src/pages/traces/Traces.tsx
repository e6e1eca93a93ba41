import { ActionIcon, Button, Tooltip } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { useState } from 'react'
import { useLocation, useNavigate, useParams } from 'react-router'
import { Aside } from '@/parts/Aside'
import { useAddress } from '@/parts/address'
import { Page } from '@/parts/Page'
import { Filters } from './Filters'
import { TraceList } from './TraceList'
import { TraceSheet } from './TraceSheet'
import classes from './Traces.module.css'
import { useTracesWords } from './traces.words'
import { KINDS, SPANS, type Span, type Wanted } from './useTraces'

/** All that memory did, as it happens; one of it beside the list. */
export default function Traces() {
  const words = useTracesWords()
  const go = useNavigate()
  const { search } = useLocation()
  const [params] = useAddress()
  const [live, setLive] = useState(true)
  const open = useParams()['*'] || null
  const span = params.get('when')
  const wanted: Wanted = {
    kind: KINDS.find((one) => one === params.get('kind')),
    space: params.get('space') ?? undefined,
    q: params.get('q') ?? undefined,
    span: span && span in SPANS ? (span as Span) : undefined,
  }
  return (
    <Page
      title={words('title')}
      about={words('about')}
      actions={
        <>
          <span className={classes.live} data-on={live || undefined} role="status">
            <span className={classes.pulse} aria-hidden />
            {words(live ? 'live' : 'pausedNow')}
          </span>
          <Tooltip label={words(live ? 'pause' : 'goOn')}>
            <ActionIcon
              variant="default"
              size="lg"
              aria-label={words(live ? 'pause' : 'goOn')}
              onClick={() => setLive(!live)}
            >
              {live ? (
                <IconPlayerPause size={18} stroke={1.6} aria-hidden />
              ) : (
                <IconPlayerPlay size={18} stroke={1.6} aria-hidden />
              )}
            </ActionIcon>
          </Tooltip>
        </>
      }
      aside={
        <Aside
          opened={open !== null}
          onClose={() => go({ pathname: '/dashboard/traces', search })}
          title={words('list')}
          actions={<CopyLink />}
        >
          {open && <TraceSheet key={open} id={open} />}
        </Aside>
      }
    >
      <Filters wanted={wanted} />
      <TraceList key={JSON.stringify(wanted)} wanted={wanted} live={live} open={open} />
    </Page>
  )
}

function CopyLink() {
  const words = useTracesWords()
  const [copied, setCopied] = useState(false)
  return (
    <Button
      size="compact-sm"
      variant="subtle"
      color="gray"
      onClick={() => {
        const address = location.origin + location.pathname
        void navigator.clipboard.writeText(address).then(() => setCopied(true))
      }}
    >
      {words(copied ? 'linkCopied' : 'copyLink')}
    </Button>
  )
}
