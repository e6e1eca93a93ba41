import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  Notification,
} from '@mantine/core'
import { spoken } from './words'

const stone: MantineColorsTuple = [
  '#eef5f3', '#dce8e5', '#b7d1ca', '#8fb9ae', '#6da596', '#579887', '#4a8f7e', '#3f6b62', '#335a52', '#244841',
] // biome-ignore format: a row of shades

export const theme = createTheme({
  colors: { stone },
  primaryColor: 'stone',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  // Mantine picks the letters on a filled button by the light shade alone; in the dark they would be white on pale.
  variantColorResolver: (input) => {
    const found = defaultVariantColorsResolver(input)
    const ours = input.variant === 'filled' && [undefined, 'stone'].includes(input.color)
    return ours ? { ...found, color: 'var(--mantine-primary-color-contrast)' } : found
  },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily:
    'system-ui, "Segoe UI", Roboto, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
  headings: { fontWeight: '600' },
  components: {
    Notification: Notification.extend({
      defaultProps: { closeButtonProps: { 'aria-label': spoken() === 'zh' ? '关闭' : 'Close' } },
    }),
  },
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
