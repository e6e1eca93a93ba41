import { Badge, Button, Group, Select, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schema } from '@/api/client'
import { useFormat } from '@/app/session'
import { Failed } from '@/parts/Failed'
import { Waiting } from '@/parts/Waiting'
import { Confirm } from '../Confirm'
import { More } from '../More'
import { Row, Rows } from '../Row'
import { Section } from '../Section'
import { useSettingsWords } from '../settings.words'
import { AddPerson } from './AddPerson'

type Person = Schema<'UserOut'>

export function People({ mine }: { mine: string | undefined }) {
  const words = useSettingsWords()
  const format = useFormat()
  const client = useQueryClient()
  const [adding, setAdding] = useState(false)
  const [erasing, setErasing] = useState<Person>()
  const found = useInfiniteQuery({
    queryKey: ['people'],
    queryFn: ({ pageParam: cursor }) => ok(api.GET('/v1/users', { params: { query: { cursor } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const refresh = () => client.invalidateQueries({ queryKey: ['people'] })
  const change = useMutation({
    mutationFn: ({ id, role }: Pick<Person, 'id' | 'role'>) =>
      ok(api.PATCH('/v1/users/{user_id}', { params: { path: { user_id: id } }, body: { role } })),
    onSettled: refresh,
  })
  const erase = useMutation({
    mutationFn: (person: Person) =>
      ok(api.DELETE('/v1/users/{user_id}', { params: { path: { user_id: person.id } } })),
    onSuccess: (_, person) => notifications.show({ message: words('personErased', { email: person.email }) }),
    onSettled: () => {
      setErasing(undefined)
      void refresh()
    },
  })
  return (
    <>
      <Section
        title={words('people')}
        about={words('peopleAbout')}
        action={<Button onClick={() => setAdding(true)}>{words('personAdd')}</Button>}
      >
        {found.isPending && <Waiting />}
        {found.isError && <Failed error={found.error} retry={found.refetch} />}
        {found.data && (
          <Rows label={words('people')}>
            {found.data.pages
              .flatMap((page) => page.items)
              .map((person) => (
                <Row
                  key={person.id}
                  action={
                    <Group gap="xs" wrap="nowrap">
                      <Select
                        size="xs"
                        w={104}
                        aria-label={words('roleOf', { name: person.name || person.email })}
                        allowDeselect={false}
                        data={[
                          { value: 'owner', label: words('owner') },
                          { value: 'member', label: words('member') },
                        ]}
                        value={person.role}
                        disabled={person.id === mine}
                        onChange={(role) =>
                          role && change.mutate({ id: person.id, role: role as Person['role'] })
                        }
                      />
                      {person.id !== mine && (
                        <Button
                          size="xs"
                          variant="default"
                          onClick={() => setErasing(person)}
                          aria-label={words('personEraseNamed', { name: person.email })}
                        >
                          {words('personErase')}
                        </Button>
                      )}
                    </Group>
                  }
                >
                  <Group gap="xs">
                    <Text size="sm" fw={500} truncate maw="100%">
                      {person.name || person.email}
                    </Text>
                    {person.id === mine && <Badge variant="light">{words('personYou')}</Badge>}
                  </Group>
                  <Text size="xs" c="dimmed">
                    {[
                      person.name && person.email,
                      person.last_login_at
                        ? words('personSeen', { at: format.minute(person.last_login_at) })
                        : words('personUnseen'),
                    ]
                      .filter(Boolean)
                      .join(' · ')}
                  </Text>
                </Row>
              ))}
          </Rows>
        )}
        <More of={found} />
      </Section>
      <AddPerson opened={adding} onClose={() => setAdding(false)} />
      <Confirm
        opened={erasing !== undefined}
        title={words('personEraseSure', { name: erasing?.name || erasing?.email || '' })}
        label={words('personErase')}
        typed={erasing?.email}
        busy={erase.isPending}
        onConfirm={() => erasing && erase.mutate(erasing)}
        onClose={() => setErasing(undefined)}
      >
        {words('personEraseHow')}
      </Confirm>
    </>
  )
}
