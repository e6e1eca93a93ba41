const BROWSERS = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Headless)?(?:Chrome|CriOS)\//],
  ['Safari', /\bSafari\//],
] as const
const SYSTEMS = [
  ['iOS', /iPhone|iPad/],
  ['Android', /Android/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const

/** Which browser a user agent stands for, and on what, as far as it says. */
export function browserOf(agent: string): { browser: string; system: string | undefined } {
  const browser = BROWSERS.find(([, sign]) => sign.test(agent))?.[0] ?? agent.split(/[/ ]/)[0] ?? agent
  return { browser, system: SYSTEMS.find(([, sign]) => sign.test(agent))?.[0] }
}
