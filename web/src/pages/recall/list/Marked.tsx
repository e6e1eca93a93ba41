import { Fragment } from 'react'
import type { Part } from './marks'

export function Marked({ parts }: { parts: readonly Part[] }) {
  return parts.map((part, place) => (
    <Fragment key={place}>{part.mark ? <mark>{part.text}</mark> : part.text}</Fragment>
  ))
}
