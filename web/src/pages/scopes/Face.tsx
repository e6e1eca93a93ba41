import classes from './Scopes.module.css'

/** Beside a name: its letter, in a colour that is always the same for this name. */
export function Face({ name }: { name: string }) {
  const hue = [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 360, 7)
  return (
    <span className={classes.face} style={{ '--hue': hue } as React.CSSProperties} aria-hidden>
      {([...name.trim()][0] ?? '?').toUpperCase()}
    </span>
  )
}
