import { useQuery } from '@tanstack/react-query'
import type { Schema } from '@/api/client'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Skeletons } from '@/parts/Skeletons'
import { Cards } from '../Section'
import { MailForm } from './MailForm'
import { ModelForm } from './ModelForm'
import { ProviderCard } from './ProviderCard'
import { useProviderWords } from './providers.words'
import { Reembedding } from './Reembedding'
import { providersQuery, serving } from './useProviders'

/** Language model, embeddings and mail of the whole server; for its operator. */
export function Models({ me }: { me: Schema<'Me'> }) {
  const words = useProviderWords()
  const operator = me.user?.is_admin === true
  const found = useQuery({ ...providersQuery, enabled: operator })
  if (!operator)
    return <Empty title={words('notYours')}>{words('notYoursHow', { email: me.user?.email ?? '' })}</Empty>
  if (found.isPending) return <Skeletons lines={3} height={240} />
  if (found.isError) return <Failed error={found.error} retry={found.refetch} />
  const settings = found.data
  const [chat, embeddings, mail] = (['chat', 'embeddings', 'mail'] as const).map((use) =>
    serving(settings, use),
  )
  return (
    <Cards>
      <ProviderCard use="chat" settings={settings} provider={chat}>
        <ModelForm
          key={chat?.name}
          use="chat"
          provider={chat}
          model={settings.defaults.chat?.model ?? null}
        />
      </ProviderCard>
      <ProviderCard use="embeddings" settings={settings} provider={embeddings} more={<Reembedding />}>
        <ModelForm
          key={embeddings?.name}
          use="embeddings"
          provider={embeddings}
          model={settings.defaults.embeddings?.model ?? null}
        />
      </ProviderCard>
      <ProviderCard use="mail" settings={settings} provider={mail}>
        <MailForm key={mail?.name} provider={mail} email={me.user?.email ?? ''} />
      </ProviderCard>
    </Cards>
  )
}
