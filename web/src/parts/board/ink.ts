import { useComputedColorScheme } from '@mantine/core'

const INK = {
  light: {
    text: '#242a2c',
    soft: '#5c6569',
    line: '#d9dedc',
    edge: '#aab5b1',
    card: '#ffffff',
    accent: '#4a8f7e',
  },
  dark: {
    text: '#d8dedc',
    soft: '#9aa5a3',
    line: '#343b3a',
    edge: '#5b6663',
    card: '#1f2423',
    accent: '#6da596',
  },
}

export type Ink = (typeof INK)['light']

/** The colours of `global.css`, for what is drawn on a canvas. */
export function useInk(): Ink {
  return INK[useComputedColorScheme('light')]
}
