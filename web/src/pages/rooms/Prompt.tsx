import { Accordion, Alert, Anchor, Code, Group, Stack, Text, Title, Tooltip } from '@mantine/core'
import { useFormat } from '@/app/session'
import { useAddress } from '@/parts/address'
import { LAYERS, type Layer, textOf } from './layers'
import classes from './Rooms.module.css'
import { useRoomsWords } from './rooms.words'
import type { Shown } from './why'

const SHADES: Record<Layer, string> = {
  instructions: '#7b83c4',
  working: '#4a8f7e',
  episodic: '#c08a3e',
  semantic: '#5d95b5',
  structured: '#b8655f',
  landmarks: '#9a6fa3',
  message: '#6f8f4a',
}

/** A composed prompt: how much of the window each layer takes, what it says, where it is from. */
export function Prompt({ shown }: { shown: Shown }) {
  const words = useRoomsWords()
  const format = useFormat()
  const [, change] = useAddress()
  const { filter, trace } = shown
  const { prompt, window, ratio } = shown.tokens
  const sections = shown.sections.filter((one): one is typeof one & { layer: Layer } => one.layer in LAYERS)
  const share = (part: number) =>
    part > 0 && part < 0.005 ? `< ${format.percent(0.01)}` : format.percent(part)
  const open = (id: string, layer: Layer) =>
    change({ prompt: null, for: null, show: id, ...(LAYERS[layer] && { panel: LAYERS[layer] }) })
  return (
    <Stack gap="lg">
      <div>
        <Text size="sm" c="dimmed">
          {words('promptFor')}
        </Text>
        <Text lineClamp={3}>“{shown.asked}”</Text>
      </div>
      <div>
        <Group justify="space-between" mb={6}>
          <Title order={3} size="h5">
            {words('windowTitle')}
          </Title>
          <Text size="sm">
            {words('ofWindow', {
              prompt: format.number(prompt),
              window: format.number(window),
              share: format.percent(ratio),
            })}
          </Text>
        </Group>
        <div className={classes.window}>
          <div
            className={classes.bar}
            role="img"
            aria-label={words('windowShare', { share: format.percent(ratio) })}
          >
            {sections.map((one) => (
              <Tooltip key={one.layer} label={`${words(one.layer)} · ${format.number(one.tokens)}`}>
                <span style={{ width: `${(one.tokens / window) * 100}%`, background: SHADES[one.layer] }} />
              </Tooltip>
            ))}
          </div>
          <span className={classes.mark} aria-hidden />
          <span className={classes.markLabel}>{words('compactsAt')}</span>
        </div>
      </div>
      {shown.compacted && <Alert variant="default">{words('compacted')}</Alert>}
      <Accordion className={classes.layers} multiple variant="separated" chevronPosition="left" order={3}>
        {sections.map((one) => (
          <Accordion.Item key={one.layer} value={one.layer}>
            <Accordion.Control>
              <Group gap="xs" wrap="nowrap">
                <span className={classes.dot} style={{ background: SHADES[one.layer] }} />
                <Text flex={1} fw={500} size="sm">
                  {words(one.layer)}
                </Text>
                <Text size="xs" c="dimmed">
                  {words('tokens', { count: one.tokens, number: format.number(one.tokens) })} ·{' '}
                  {share(one.tokens / window)}
                </Text>
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              <Stack gap="xs">
                <Text size="xs" c="dimmed">
                  {words(`${one.layer}About`)}
                </Text>
                <Code block className={classes.prompt} tabIndex={0}>
                  {textOf(one.layer, shown) || words('layerEmpty')}
                </Code>
                {one.ids.length > 0 && one.layer !== 'instructions' && (
                  <Group gap={8} aria-label={words('sources')} role="group">
                    {one.ids.map((id) => (
                      <Anchor
                        key={id}
                        component="button"
                        type="button"
                        size="xs"
                        ff="monospace"
                        title={id}
                        onClick={() => open(id, one.layer)}
                      >
                        {id.slice(0, 10)}…
                      </Anchor>
                    ))}
                  </Group>
                )}
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
      {filter && (
        <Text size="xs" c="dimmed">
          {words('readable', {
            visibility: filter.visibility.join(', '),
            runs: filter.run_ids.join(', '),
          })}
        </Text>
      )}
      <Text size="xs" c="dimmed">
        {trace ? words('composedThen', { at: format.minute(trace.at) }) : words('composedNow')}
      </Text>
      {trace && trace.withheld > 0 && (
        <Text size="xs" c="dimmed">
          {words('withheld', { count: trace.withheld })}
        </Text>
      )}
      {trace?.cut && (
        <Text size="xs" c="dimmed">
          {words('cut')}
        </Text>
      )}
    </Stack>
  )
}
