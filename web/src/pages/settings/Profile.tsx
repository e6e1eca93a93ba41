import type { Schema } from '@/api/client'
import { Password } from './Password'
import { Preferences } from './Preferences'
import { SecondFactor } from './SecondFactor'
import { Cards } from './Section'
import { Sessions } from './Sessions'
import { You } from './You'

export function Profile({ me }: { me: Schema<'Me'> }) {
  if (!me.user) return null
  return (
    <Cards>
      <You user={me.user} />
      <Preferences user={me.user} />
      <Password user={me.user} />
      <SecondFactor user={me.user} />
      <Sessions />
    </Cards>
  )
}
