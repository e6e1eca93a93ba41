import { Accordion, Button, Code, CopyButton, Stack } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import classes from './Relevance.module.css'
import { useRelevanceWords } from './relevance.words'

/** What the page has just asked for, as a line for a shell. */
export function SameCall({ path, body }: { path: string; body: unknown }) {
  const words = useRelevanceWords()
  const line = curl(path, body)
  return (
    <Accordion variant="contained" chevronPosition="left">
      <Accordion.Item value="curl">
        <Accordion.Control>{words('sameCall')}</Accordion.Control>
        <Accordion.Panel>
          <Stack gap="xs" align="flex-start">
            <Code block className={classes.curl}>
              {line}
            </Code>
            <CopyButton value={line}>
              {({ copied, copy }) => (
                <Button
                  size="xs"
                  variant="default"
                  onClick={copy}
                  leftSection={copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
                >
                  {words(copied ? 'copied' : 'copyCurl')}
                </Button>
              )}
            </CopyButton>
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  )
}

function curl(path: string, body: unknown): string {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", "'\\''")
  return [
    `curl ${location.origin}${path} \\`,
    '  -H "Authorization: Bearer $KEEPSTONE_API_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d '${quoted}'`,
  ].join('\n')
}
