import { Button, ScrollArea, Text, TextInput } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { Link } from 'react-router'
import { useFrameWords } from '@/app/frame.words'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { type useScopes } from './calls'
import classes from './Scopes.module.css'
import { useScopesWords } from './scopes.words'

/** All conversations, with how much was said in each, by how many, and when last. */
export function ScopeList({
  known,
  q,
  onFind,
  open,
  onNew,
}: {
  known: ReturnType<typeof useScopes>
  q: string
  onFind: (q: string) => void
  open: string | null
  onNew: () => void
}) {
  const words = useScopesWords()
  const frame = useFrameWords()
  const format = useFormat()
  const { found, scopes } = known
  return (
    <nav className={classes.list} aria-label={words('scopes')}>
      <div className={classes.find}>
        <TextInput
          aria-label={words('findScope')}
          placeholder={words('findScope')}
          leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
          value={q}
          maxLength={255}
          onChange={(event) => onFind(event.currentTarget.value)}
        />
        <Button
          variant="default"
          onClick={onNew}
          leftSection={<IconPlus size={16} stroke={1.6} aria-hidden />}
        >
          {words('newScope')}
        </Button>
      </div>
      <ScrollArea className={classes.scroll} viewportProps={{ tabIndex: -1 }}>
        {found.isPending && <Skeletons lines={6} height={56} />}
        {found.isError && <Failed error={found.error} retry={found.refetch} />}
        {found.isSuccess && scopes.length === 0 && (
          <Text size="sm" c="dimmed" p="sm">
            {words('noSuchScope')}
          </Text>
        )}
        <ul className={classes.rows}>
          {scopes.map((one) => (
            <li key={one.scope_id}>
              <Link
                to={`/dashboard/scopes?${new URLSearchParams({ scope: one.scope_id })}`}
                className={classes.row}
                data-row
                aria-current={one.scope_id === open || undefined}
              >
                <span className={classes.name}>{one.scope_id}</span>
                <span className={classes.about}>
                  <span>
                    {words('messages', { count: one.messages, number: format.number(one.messages) })}
                    {' · '}
                    {words('peopleCount', { count: one.people })}
                  </span>
                  {one.last_at && <time dateTime={one.last_at}>{format.day(one.last_at)}</time>}
                </span>
              </Link>
            </li>
          ))}
        </ul>
        {found.hasNextPage && (
          <Button
            variant="subtle"
            fullWidth
            loading={found.isFetching}
            onClick={() => void found.fetchNextPage()}
          >
            {frame('more')}
          </Button>
        )}
      </ScrollArea>
    </nav>
  )
}
