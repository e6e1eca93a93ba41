import type { Schema } from '@/api/client'
import type { TracesWords } from './traces.words'

export type Share = { key: string; name: string; tokens: number }

const LAYERS = [
  'instructions', 'working', 'episodic', 'semantic', 'structured', 'landmarks', 'message',
] as const // biome-ignore format: as they stand in the prompt

type Sections = { sections?: { layer: string; tokens: number }[] }

/** What a text is made of, with tokens that add up to the whole: a prompt by its layers, others by what they quote. */
export function sharesOf(
  trace: Schema<'TraceOut'>,
  pieces: Schema<'HandedPieceOut'>[],
  total: number,
  words: TracesWords,
): Share[] {
  const { sections } = trace.parameters as Sections
  if (sections && pieces === trace.handed_out) {
    const shares = sections.flatMap(({ layer, tokens }) => {
      const known = LAYERS.find((one) => one === layer)
      return tokens > 0 ? [{ key: layer, name: known ? words(known) : layer, tokens }] : []
    })
    return withRest(shares, total, words('frame'))
  }
  const quoted = pieces.filter((one) => one.sources.length > 0)
  const shares = quoted.map((one, place) => ({
    key: `${place}`,
    name: nameOf(one, trace, words),
    tokens: one.tokens,
  }))
  const system = pieces.filter((one) => one.role === 'system' && one.sources.length === 0)
  const told = system.reduce((sum, one) => sum + one.tokens, 0)
  return withRest(
    told ? [{ key: 'system', name: words('roleSystem'), tokens: told }, ...shares] : shares,
    total,
    words('around'),
  )
}

function withRest(shares: Share[], total: number, name: string): Share[] {
  const rest = total - shares.reduce((sum, one) => sum + one.tokens, 0)
  return rest > 0 ? [...shares, { key: 'rest', name, tokens: rest }] : shares
}

/** A quoted piece by what it quotes: its title, who said it, else its beginning. */
function nameOf(piece: Schema<'HandedPieceOut'>, trace: Schema<'TraceOut'>, words: TracesWords): string {
  if (piece.text === null) return words('hidden')
  const source = trace.candidates.find((one) => piece.sources.length === 1 && one.id === piece.sources[0])
  return source?.title ?? piece.text.trim().replace(/\s+/g, ' ').slice(0, 90)
}
