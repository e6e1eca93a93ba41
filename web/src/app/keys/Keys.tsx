import { Kbd, Modal, Switch, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Fragment, useEffect } from 'react'
import { openSearch } from '../search/opened'
import classes from './Keys.module.css'
import { enterSearchField, heard, moveInRows, switchKeys, useKeys, useKeysOn } from './keys'
import { useKeysWords } from './keys.words'

let show = () => {}
export const openHelp = () => show()

export const MOD = /Mac/.test(navigator.userAgent) ? '⌘' : 'Ctrl'

const SHEET = [
  {
    title: 'everywhere',
    lines: [
      ['search', `${MOD} K`],
      ['field', '/'],
      ['make', 'N'],
      ['help', '?'],
      ['close', 'Esc'],
    ],
  },
  {
    title: 'inLists',
    lines: [
      ['next', 'J'],
      ['previous', 'K'],
      ['open', 'Enter'],
    ],
  },
  {
    title: 'inCapsule',
    lines: [
      ['next', 'J'],
      ['previous', 'K'],
    ],
  },
  {
    title: 'inCurator',
    lines: [
      ['keep', 'K'],
      ['edit', 'E'],
      ['skip', 'S'],
    ],
  },
] as const

/** What single keys do on every page, and the sheet that says so. */
export function Keys() {
  const words = useKeysWords()
  const [opened, { open, close }] = useDisclosure()
  const on = useKeysOn()
  useEffect(() => {
    show = open
    document.addEventListener('keydown', heard)
    return () => document.removeEventListener('keydown', heard)
  }, [open])
  useKeys({
    '/': () => enterSearchField() || openSearch(),
    '?': open,
    j: () => moveInRows(1),
    k: () => moveInRows(-1),
  })
  return (
    <Modal opened={opened} onClose={close} title={words('title')} size="lg">
      <div className={classes.sheet}>
        {SHEET.map(({ title, lines }) => (
          <section key={title}>
            <Title order={3} size="h6" mb="xs">
              {words(title)}
            </Title>
            <dl className={classes.lines}>
              {lines.map(([what, key]) => (
                <Fragment key={what}>
                  <dt>{words(what)}</dt>
                  <dd>
                    {key.split(' ').map((one) => (
                      <Kbd key={one}>{one}</Kbd>
                    ))}
                  </dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <Switch
        mt="lg"
        label={words('on')}
        description={words('onHow')}
        checked={on}
        onChange={(event) => switchKeys(event.currentTarget.checked)}
      />
    </Modal>
  )
}
