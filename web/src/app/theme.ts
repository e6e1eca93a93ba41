import {
  type CSSVariablesResolver,
  createTheme,
  Drawer,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  Modal,
  Notification,
} from '@mantine/core'
import { spoken } from './words'

const stone: MantineColorsTuple = [
  '#eef5f3', '#dce8e5', '#b7d1ca', '#8fb9ae', '#6da596', '#579887', '#4a8f7e', '#3f6b62', '#335a52', '#244841',
] // biome-ignore format: a row of shades

const CLOSE = spoken() === 'zh' ? '关闭' : 'Close'
const VEIL = { backgroundOpacity: 0.35, blur: 2 }
// Of a window over the page: the page's own header is the banner, and there is one.
const ATTRIBUTES = { header: { role: 'presentation' } }
const TITLE = { fontWeight: 600, fontSize: 'var(--mantine-font-size-lg)', overflowWrap: 'anywhere' } as const

// The greys of the dark, with a breath of the stone's green, so that what Mantine colours itself stands in our palette.
const dark: MantineColorsTuple = [
  '#d8dedc', '#b9c2c0', '#a3aeac', '#6f7a78', '#4b5553', '#343b3a', '#262c2b', '#1f2423', '#171a1a', '#131616',
] // biome-ignore format: a row of shades

export const theme = createTheme({
  colors: { stone, dark },
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
    // One overlay for all: a sheet at the right, or a window, above a page that stays in sight.
    Drawer: Drawer.extend({
      defaultProps: {
        overlayProps: VEIL,
        attributes: ATTRIBUTES,
        padding: 'lg',
        transitionProps: { duration: 160 },
        closeButtonProps: { 'aria-label': CLOSE },
        styles: {
          title: TITLE,
          header: { background: 'var(--card)' },
          content: { background: 'var(--card)' },
        },
      },
    }),
    Modal: Modal.extend({
      defaultProps: {
        overlayProps: VEIL,
        attributes: ATTRIBUTES,
        padding: 'lg',
        centered: true,
        transitionProps: { duration: 160 },
        closeButtonProps: { 'aria-label': CLOSE },
        styles: {
          title: TITLE,
          header: { background: 'var(--card)' },
          content: { background: 'var(--card)' },
        },
      },
    }),
    Notification: Notification.extend({
      defaultProps: { closeButtonProps: { 'aria-label': CLOSE } },
    }),
  },
})

/** Paper and ink under Mantine's own names; `global.css` has the colours. */
export const variables: CSSVariablesResolver = () => {
  const ours = {
    '--mantine-color-body': 'var(--paper)',
    '--mantine-color-text': 'var(--ink)',
    '--mantine-color-placeholder': 'var(--soft)',
    '--mantine-color-dimmed': 'var(--soft)',
    '--mantine-color-default': 'var(--card)',
    '--mantine-color-default-border': 'var(--line)',
  }
  return { variables: {}, light: ours, dark: ours }
}
