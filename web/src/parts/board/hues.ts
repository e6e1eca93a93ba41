const LIGHT = [
  '#2f7d6b',
  '#b4552d',
  '#4b62b5',
  '#96781a',
  '#a23f74',
  '#2f7fa6',
  '#6b8a2a',
  '#7c55a8',
  '#b03a3a',
  '#557',
]
const DARK = [
  '#6fc3ae',
  '#e59a72',
  '#93a6f0',
  '#d8bd5f',
  '#e08bb8',
  '#76bfe2',
  '#abcb6b',
  '#bd9ae4',
  '#ec8c8c',
  '#a9a9d0',
]

/** The colour of a cluster: the same number has the same hue in light and in dark. */
export function hue(cluster: number, dark: boolean, alone: string): string {
  if (cluster < 0) return alone
  const hues = dark ? DARK : LIGHT
  return hues[cluster % hues.length] ?? alone
}
