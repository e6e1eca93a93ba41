import { useMemo } from 'react'

/** A snippet of the API: text with `<mark>`, everything else escaped. Read as a document, so that nothing in it runs. */
export function Marked({ html }: { html: string }) {
  const parts = useMemo(
    () =>
      [...new DOMParser().parseFromString(html, 'text/html').body.childNodes].map((node) => ({
        text: node.textContent ?? '',
        marked: node.nodeName === 'MARK',
      })),
    [html],
  )
  return parts.map((part, place) => (part.marked ? <mark key={place}>{part.text}</mark> : part.text))
}
