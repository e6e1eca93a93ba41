import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Rooms() {
  const words = useFrameWords()
  return <Page title={words('rooms')}>{null}</Page>
}
