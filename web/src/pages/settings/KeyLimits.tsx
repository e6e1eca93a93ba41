import { type ComboboxItem, type ComboboxItemGroup, MultiSelect, Switch, TagsInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { useSafetyWords } from './safety.words'

type Surface = NonNullable<Schema<'KeyOut'>['surfaces']>[number]

export const SURFACES = [
  'capsules',
  'workspaces',
  'openai',
  'rooms',
  'projects',
  'facts',
  'graphs',
  'scopes',
  'stores',
  'mem0',
  'traces',
  'account',
] as const satisfies readonly Surface[]

export type Limits = { readOnly: boolean; surfaces: Surface[]; spaces: string[]; scopes: string[] }

export const NO_LIMITS: Limits = { readOnly: false, surfaces: [], spaces: [], scopes: [] }

/** As the server takes them: what is left out is not limited. */
export function sent(limits: Limits) {
  const spaces = [...limits.spaces, ...limits.scopes.map((name) => `scope:${name}`)]
  return {
    permission: limits.readOnly ? ('read' as const) : ('write' as const),
    surfaces: limits.surfaces.length > 0 ? limits.surfaces : null,
    spaces: spaces.length > 0 ? spaces : null,
  }
}

/** What a new key may: read or write, what it opens, where it reaches. */
export function KeyLimits({ limits, change }: { limits: Limits; change: (limits: Limits) => void }) {
  const words = useSafetyWords()
  const places = usePlaces()
  return (
    <>
      <Switch
        label={words('readOnly')}
        description={words('readOnlyHow')}
        checked={limits.readOnly}
        onChange={(event) => change({ ...limits, readOnly: event.currentTarget.checked })}
      />
      <MultiSelect
        label={words('surfaces')}
        placeholder={limits.surfaces.length === 0 ? words('everything') : undefined}
        data={SURFACES.map((surface) => ({ value: surface, label: words(surface) }))}
        value={limits.surfaces}
        onChange={(surfaces) => change({ ...limits, surfaces: surfaces as Surface[] })}
        clearable
      />
      <MultiSelect
        label={words('spaces')}
        description={words('spacesHow')}
        placeholder={limits.spaces.length + limits.scopes.length === 0 ? words('everywhere') : undefined}
        data={places}
        value={limits.spaces}
        onChange={(spaces) => change({ ...limits, spaces })}
        searchable
        clearable
      />
      <TagsInput
        label={words('scopesByName')}
        description={words('scopesHow')}
        value={limits.scopes}
        onChange={(scopes) => change({ ...limits, scopes })}
        maxLength={255}
      />
    </>
  )
}

function usePlaces(): ComboboxItemGroup<ComboboxItem>[] {
  const words = useSafetyWords()
  const query = { params: { query: { limit: 200 } } }
  const { data } = useQuery({
    queryKey: ['places'],
    queryFn: () =>
      Promise.all([
        ok(api.GET('/v1/workspaces', query)),
        ok(api.GET('/v1/rooms', query)),
        ok(api.GET('/v1/graphs', query)),
        ok(api.GET('/v1/projects', query)),
        ok(api.GET('/v1/stores', query)),
      ]),
  })
  const [workspaces, rooms, graphs, projects, stores] = data ?? []
  const named = (page: { items: { id: string; name: string }[] } | undefined) =>
    (page?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))
  return [
    { group: words('capsules'), items: [{ value: 'capsules', label: words('ownCapsules') }] },
    { group: words('workspaces'), items: named(workspaces) },
    { group: words('rooms'), items: named(rooms) },
    { group: words('graphs'), items: named(graphs) },
    { group: words('projects'), items: named(projects) },
    {
      group: words('stores'),
      items: (stores?.items ?? []).map(({ name }) => ({ value: `store:${name}`, label: name })),
    },
  ]
}
