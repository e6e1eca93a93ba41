import { Button, Drawer } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useFrameWords } from '@/app/frame.words'
import { spoken } from '@/app/words'
import { useAddress } from '@/parts/address'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { Waiting } from '@/parts/Waiting'
import { makeExample } from './example'
import { PlaceList } from './PlaceList'
import { agentsQuery, invitationsQuery, nameOf, type Place, roomsQuery, useRefresh } from './place'
import { Remembered } from './Remembered'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import { Talk } from './Talk'

/** Rooms and direct messages: talk, and what agents are told when they answer. */
export default function Rooms() {
  const words = useRoomsWords()
  const frame = useFrameWords()
  const [params, change] = useAddress()
  const narrow = useMediaQuery('(max-width: 48em)', undefined, { getInitialValueInEffect: false })
  const wide = useMediaQuery('(min-width: 78em)', undefined, { getInitialValueInEffect: false })
  const rooms = useQuery(roomsQuery)
  const agents = useQuery(agentsQuery)
  const invitations = useQuery(invitationsQuery)
  const refresh = useRefresh()
  const example = useMutation({
    mutationFn: () => makeExample(spoken()),
    onSuccess: async (id) => {
      await refresh()
      change({ room: id, dm: null })
    },
  })
  if (rooms.isPending || agents.isPending || invitations.isPending) return <Waiting />
  const failed = rooms.error ?? agents.error ?? invitations.error
  if (failed) return <Failed error={failed} retry={() => void refresh()} />
  const room = rooms.data?.items.find((one) => one.id === params.get('room'))
  const agent = agents.data?.items.find((one) => one.slug === params.get('dm'))
  const place: Place | undefined = room
    ? { kind: 'room', id: room.id }
    : agent && { kind: 'dm', slug: agent.slug }
  const bare = !rooms.data?.items.length && !agents.data?.items.length
  const panel = params.get('panel')
  const beside = wide && panel !== 'none'
  const list = (
    <PlaceList
      invitations={invitations.data?.items ?? []}
      rooms={rooms.data?.items ?? []}
      agents={agents.data?.items ?? []}
      place={place}
      onChoose={(next) =>
        change({
          room: next.kind === 'room' ? next.id : null,
          dm: next.kind === 'dm' ? next.slug : null,
          thread: null,
          show: null,
          prompt: null,
        })
      }
    />
  )
  const nothing = (
    <Empty
      title={words(bare ? 'emptyTitle' : 'chooseTitle')}
      action={
        <Button
          variant={bare ? 'filled' : 'default'}
          loading={example.isPending}
          onClick={() => example.mutate()}
        >
          {words('makeExample')}
        </Button>
      }
    >
      {words(bare ? 'empty' : 'choose')}
    </Empty>
  )
  const remembered = place && <Remembered key={nameOf(place)} place={place} room={room} />
  const layout = narrow
    ? place
      ? classes.talkAlone
      : classes.alone
    : `${place && beside ? classes.beside : ''}`
  return (
    <Page title={words('title')} about={narrow && place ? undefined : words('about')}>
      <div className={`${classes.columns} ${layout}`}>
        {(!narrow || !place) && list}
        {place ? (
          <Talk
            key={nameOf(place)}
            place={place}
            room={room}
            agent={agent}
            agents={agents.data?.items ?? []}
            onBack={narrow ? () => change({ room: null, dm: null, thread: null }) : undefined}
            onPanel={() =>
              wide ? change({ panel: beside ? 'none' : null }) : change({ panel: 'summaries' })
            }
          />
        ) : (
          (!narrow || bare) && nothing
        )}
        {place && beside && <div className={classes.card}>{remembered}</div>}
      </div>
      {place && !wide && (
        <Drawer
          closeButtonProps={{ 'aria-label': frame('close') }}
          opened={panel !== null && panel !== 'none'}
          onClose={() => change({ panel: null, show: null })}
          position={narrow ? 'bottom' : 'right'}
          size={narrow ? '85%' : 420}
          title={words('remembered')}
        >
          {remembered}
        </Drawer>
      )}
    </Page>
  )
}
