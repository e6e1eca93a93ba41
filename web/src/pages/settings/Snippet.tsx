import { Box, Code, Text } from '@mantine/core'
import { Copied } from './Copied'
import classes from './Snippet.module.css'

/** Something to copy into a file or a terminal, and where it goes. */
export function Snippet({ where, text }: { where: string; text: string }) {
  return (
    <Box mt="md">
      <Text size="sm" mb={6}>
        {where}
      </Text>
      <Box className={classes.snippet}>
        <Code block className={classes.code} tabIndex={0}>
          {text}
        </Code>
        <Box className={classes.copy}>
          <Copied text={text} />
        </Box>
      </Box>
    </Box>
  )
}
