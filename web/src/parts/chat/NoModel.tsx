import { Button, Code, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { IconPlugConnected } from '@tabler/icons-react'
import { useState } from 'react'
import { Link } from 'react-router'
import { CopyAction } from './CopyAction'
import { useChatWords } from './chat.words'
import classes from './NoModel.module.css'

const VARIABLES = {
  openai: 'KEEPSTONE_LLM_PROVIDER=openai\nKEEPSTONE_LLM_API_KEY=sk-…\nKEEPSTONE_LLM_MODEL=gpt-4o-mini',
  anthropic:
    'KEEPSTONE_LLM_PROVIDER=anthropic\nKEEPSTONE_LLM_API_KEY=sk-ant-…\nKEEPSTONE_LLM_MODEL=claude-haiku-4-5',
  local:
    'KEEPSTONE_LLM_PROVIDER=openai\nKEEPSTONE_LLM_BASE_URL=http://127.0.0.1:11434/v1\nKEEPSTONE_LLM_MODEL=llama3.2',
} as const
type Provider = keyof typeof VARIABLES

/** Where nobody answers yet: how to connect a model. */
export function NoModel() {
  const words = useChatWords()
  const [provider, setProvider] = useState<Provider>('openai')
  return (
    <Stack className={classes.panel} gap="sm">
      <Title order={2} size="h4">
        {words('noModelTitle')}
      </Title>
      <Text size="sm" c="dimmed">
        {words('noModel')}
      </Text>
      <Button
        component={Link}
        to="/dashboard/settings/models"
        leftSection={<IconPlugConnected size={16} stroke={1.8} aria-hidden />}
        style={{ alignSelf: 'flex-start' }}
      >
        {words('toSettings')}
      </Button>
      <SegmentedControl
        aria-label={words('provider')}
        value={provider}
        onChange={(chosen) => setProvider(chosen as Provider)}
        data={[
          { value: 'openai', label: 'OpenAI' },
          { value: 'anthropic', label: 'Anthropic' },
          { value: 'local', label: words('local') },
        ]}
      />
      <div className={classes.frame}>
        <Code block className={classes.code} tabIndex={0}>
          {VARIABLES[provider]}
        </Code>
        <div className={classes.copy}>
          <CopyAction text={VARIABLES[provider]} label={words('copyVariables')} />
        </div>
      </div>
      <Text size="xs" c="dimmed">
        {words(provider === 'local' ? 'localHint' : 'keyHint')}
      </Text>
    </Stack>
  )
}
