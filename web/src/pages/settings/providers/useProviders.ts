import { notifications } from '@mantine/notifications'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ok, type Schema } from '@/api/client'
import { useProviderWords } from './providers.words'

export type Settings = Schema<'ProvidersOut'>
export type Wanted = Schema<'ProviderIn'>
export type Kept = Schema<'ProviderOut'>
type Uses = 'chat' | 'embeddings' | 'mail'

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: () => ok(api.GET('/v1/settings/providers')),
})

/** The provider that serves for something now, if it is one and not what is built in. */
export function serving(settings: Settings | undefined, use: Uses): Kept | undefined {
  const chosen = settings?.defaults[use]
  return settings?.providers.find((one) => one.name === chosen?.provider)
}

/** All that the server was told, with one of its uses changed: what the environment fixes is not said again. */
function changed(settings: Settings, use: Uses, wanted: Wanted | null, model: string | null) {
  const before = serving(settings, use)
  const others = settings.providers.filter((one) => !one.fixed && one.name !== wanted?.name)
  const defaults = Object.fromEntries(
    Object.entries(settings.defaults)
      .filter(([, one]) => one && !one.fixed)
      .map(([name, one]) => [name, { provider: one!.provider, model: one!.model }]),
  )
  delete defaults[use]
  if (use === 'chat' && !wanted && defaults.extraction?.provider === before?.name) delete defaults.extraction
  if (wanted) defaults[use] = { provider: wanted.name, model }
  const used = new Set(Object.values(defaults).map((one) => one.provider))
  const kept = others.filter((one) => one.name !== before?.name || used.has(one.name))
  return {
    revision: settings.revision,
    defaults,
    providers: [
      ...kept.map(({ name, kind, base_url, models, sender }) => ({ name, kind, base_url, models, sender })),
      ...(wanted ? [wanted] : []),
    ],
  }
}

/** Connects, changes or (with null) disconnects what serves for something. */
export function useConnect(use: Uses) {
  const client = useQueryClient()
  const words = useProviderWords()
  return useMutation({
    mutationFn: async ({ wanted, model }: { wanted: Wanted | null; model?: string | null }) => {
      const now = await client.fetchQuery({ ...providersQuery, staleTime: 0 })
      return ok(api.PUT('/v1/settings/providers', { body: changed(now, use, wanted, model ?? null) }))
    },
    onSuccess: (settings) => {
      client.setQueryData(providersQuery.queryKey, settings)
      void client.invalidateQueries({ queryKey: ['models'] })
      void client.invalidateQueries({ queryKey: ['ready'] })
      notifications.show({ message: words('saved') })
    },
  })
}

export function useTrial() {
  return useMutation({
    mutationFn: (body: Schema<'ProviderTestIn'>) => ok(api.POST('/v1/settings/providers/test', { body })),
    meta: { quiet: true },
  })
}
