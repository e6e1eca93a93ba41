import { Combobox, Group, InputBase, Text, useCombobox } from '@mantine/core'
import { IconCheck, IconSparkles } from '@tabler/icons-react'
import { useState } from 'react'
import { useModelPickerWords } from './ModelPicker.words'
import { grouped, useLastModel, useModelList } from './modelList'

/**
 * A model to choose. An empty `value` is the server's default one, which is also offered first.
 *
 * `useLastModel(place)` gives a value that is remembered in this browser, for its `value` and `onChange`.
 */
export function ModelPicker({
  value,
  onChange,
  label,
  disabled = false,
  size = 'xs',
  width = 220,
}: {
  value: string
  onChange: (model: string) => void
  label?: string
  disabled?: boolean
  size?: 'xs' | 'sm' | 'md'
  width?: number | string
}) {
  const words = useModelPickerWords()
  const { models, usual } = useModelList()
  const [typed, setTyped] = useState('')
  const box = useCombobox({
    onDropdownClose: () => {
      box.resetSelectedOption()
      setTyped('')
    },
    onDropdownOpen: () => box.focusSearchInput(),
  })
  const groups = grouped(models, typed, words('others'))
  const offersDefault = typed.trim() === ''
  const shown = value || (usual ? words('defaultNamed', { model: usual }) : words('default'))
  return (
    <Combobox
      store={box}
      position="top-start"
      width={320}
      onOptionSubmit={(chosen) => {
        onChange(chosen === DEFAULT ? '' : chosen)
        box.closeDropdown()
      }}
    >
      <Combobox.Target targetType="button">
        <InputBase
          component="button"
          type="button"
          pointer
          size={size}
          w={width}
          maw="100%"
          disabled={disabled}
          leftSection={<IconSparkles size={14} stroke={1.6} aria-hidden />}
          rightSection={<Combobox.Chevron />}
          rightSectionPointerEvents="none"
          aria-label={`${label ?? words('model')}: ${shown}`}
          onClick={() => box.toggleDropdown()}
        >
          <Text component="span" size={size} truncate display="block">
            {shown}
          </Text>
        </InputBase>
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value)
            box.updateSelectedOptionIndex()
          }}
          aria-label={words('search')}
          placeholder={words('search')}
        />
        <Combobox.Options mah={300} style={{ overflowY: 'auto' }}>
          {offersDefault && (
            <Combobox.Option value={DEFAULT} active={value === ''}>
              <Line chosen={value === ''} name={words('default')} about={usual} />
            </Combobox.Option>
          )}
          {groups.map(({ owner, names }) => (
            <Combobox.Group key={owner} label={owner}>
              {names.map((name) => (
                <Combobox.Option key={name} value={name} active={name === value}>
                  <Line chosen={name === value} name={name} />
                </Combobox.Option>
              ))}
            </Combobox.Group>
          ))}
          {groups.length === 0 && (
            <Combobox.Empty>{words(models.length > 0 ? 'none' : 'nothing')}</Combobox.Empty>
          )}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  )
}

// Of an option that stands for the empty value; no model is called so.
const DEFAULT = '\u0000'

function Line({ chosen, name, about }: { chosen: boolean; name: string; about?: string }) {
  return (
    <Group gap={8} wrap="nowrap" justify="space-between" mih={28}>
      <Text component="span" size="sm" truncate>
        {name}
        {about && (
          <Text component="span" size="xs" c="dimmed" ml={6}>
            {about}
          </Text>
        )}
      </Text>
      {chosen && <IconCheck size={16} stroke={1.8} aria-hidden />}
    </Group>
  )
}

export { useLastModel }
