import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

const stone: MantineColorsTuple = [
  '#eef5f3', '#dce8e5', '#b7d1ca', '#8fb9ae', '#6da596', '#579887', '#4a8f7e', '#3f6b62', '#335a52', '#244841',
] // biome-ignore format: a row of shades

export const theme = createTheme({
  colors: { stone },
  primaryColor: 'stone',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily:
    'system-ui, "Segoe UI", Roboto, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
  headings: { fontWeight: '600' },
})

/** Paper and ink under Mantine's own names; `global.css` has the colours. */
export const variables: CSSVariablesResolver = () => {
  const ours = {
    '--mantine-color-body': 'var(--paper)',
    '--mantine-color-dimmed': 'var(--soft)',
    '--mantine-color-default': 'var(--card)',
    '--mantine-color-default-border': 'var(--line)',
  }
  return { variables: {}, light: ours, dark: ours }
}
