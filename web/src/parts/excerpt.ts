const LOOKED_AT = 600
const SHOWN = 280

/** How a text begins, without the marks of Markdown. */
export function plain(markdown: string): string {
  const text = markdown
    .slice(0, LOOKED_AT)
    .replace(/```[^\n]*\n?/g, ' ')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s{0,3}(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ x]\]\s+)?|\d+[.)]\s+)/gm, '')
    .replace(/^\s*(?:[-*_]\s*){3,}$/gm, ' ')
    .replace(/(\*\*|__|~~|`)/g, '')
    .replace(/\*(\S[^*\n]*)\*/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}
