import type { Schema } from '@/api/client'
import { Columns } from '@/parts/Page'
import { Password } from './Password'
import { Preferences } from './Preferences'
import { SecondFactor } from './SecondFactor'
import { Sessions } from './Sessions'
import { You } from './You'

export function Profile({ me }: { me: Schema<'Me'> }) {
  if (!me.user) return null
  return (
    <Columns>
      <You user={me.user} />
      <Preferences user={me.user} />
      <Password user={me.user} />
      <SecondFactor user={me.user} />
      <Sessions />
    </Columns>
  )
}
