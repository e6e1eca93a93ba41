import { createSpotlight } from '@mantine/spotlight'

export const [searchStore, spotlight] = createSpotlight()

export const openSearch = () => spotlight.open()
