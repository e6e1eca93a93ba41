import { Autocomplete, Group, Loader, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useCapsuleWords } from './capsules.words'
import { KindIcon } from './KindIcon'
import { useKinds } from './kinds'
import { ProjectField } from './ProjectField'
import { kindsQuery, tagsQuery } from './queries'

export type Written = {
  title: string
  content_md: string
  kind: string
  tags: string[]
  project_id: string | null
}

/** What a capsule is written in, new or not. */
export function Fields({
  value,
  onChange,
  naming = false,
  titleAside,
  known = false,
  suggested,
}: {
  value: Written
  onChange: (value: Written) => void
  naming?: boolean
  titleAside?: ReactNode
  /** Of what is there already: it keeps a title. */
  known?: boolean
  /** Below the tags. */
  suggested?: ReactNode
}) {
  const words = useCapsuleWords()
  const kinds = useKinds()
  const tags = useQuery(tagsQuery).data?.items ?? []
  const own = useQuery(kindsQuery).data?.items ?? []
  return (
    <>
      <TextInput
        label={words('title')}
        description={known ? undefined : words('titleHint')}
        required={known}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        placeholder={naming ? words('titleMaking') : undefined}
        value={value.title}
        maxLength={500}
        onChange={(event) => onChange({ ...value, title: event.currentTarget.value })}
        rightSection={naming ? <Loader size="xs" /> : titleAside}
      />
      <Textarea
        label={words('content')}
        description={words('contentHint')}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        placeholder={words('contentPlaceholder')}
        value={value.content_md}
        onChange={(event) => onChange({ ...value, content_md: event.currentTarget.value })}
        autosize
        minRows={8}
        maxRows={22}
        required
        data-autofocus
      />
      <Group grow align="flex-start" preventGrowOverflow={false} gap="sm">
        <TagsInput
          label={words('tags')}
          placeholder={value.tags.length ? undefined : words('tagsPlaceholder')}
          value={value.tags}
          onChange={(list) => onChange({ ...value, tags: list })}
          data={tags.map((one) => one.tag)}
          limit={20}
          maxTags={50}
          splitChars={[',', '，']}
          acceptValueOnBlur
          flex="2 1 220px"
        />
        <Autocomplete
          label={words('kind')}
          value={kinds.label(value.kind)}
          onChange={(typed) => onChange({ ...value, kind: kinds.kind(typed) })}
          data={kinds.offered(own.map((one) => one.value))}
          filter={({ options }) => options}
          leftSection={<KindIcon kind={value.kind} />}
          maxLength={50}
          flex="1 1 140px"
        />
      </Group>
      {suggested}
      <ProjectField value={value.project_id} onChange={(project_id) => onChange({ ...value, project_id })} />
    </>
  )
}
