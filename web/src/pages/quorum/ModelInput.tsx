import { Autocomplete } from '@mantine/core'
import { IconSelector } from '@tabler/icons-react'
import { useQuorumWords } from './quorum.words'

/** A model out of the list, or by its name: not every provider lists what it has. */
export function ModelInput({
  label,
  value,
  names,
  onChange,
}: {
  label: string
  value: string
  names: string[]
  onChange: (name: string) => void
}) {
  const words = useQuorumWords()
  return (
    <Autocomplete
      aria-label={label}
      placeholder={words('standard')}
      data={names}
      value={value}
      onChange={onChange}
      // Whoever has chosen one wants to see the others too.
      filter={({ options, search }) =>
        options.filter((one) => {
          if (names.includes(search) || !('label' in one)) return true
          return one.label.toLowerCase().includes(search.trim().toLowerCase())
        })
      }
      onFocus={(event) => event.currentTarget.select()}
      rightSection={<IconSelector size={16} stroke={1.6} aria-hidden />}
      rightSectionPointerEvents="none"
      maxDropdownHeight={320}
      selectFirstOptionOnChange={false}
      size="sm"
    />
  )
}
