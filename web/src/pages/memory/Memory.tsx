import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Memory() {
  const words = useFrameWords()
  return <Page title={words('memory')}>{null}</Page>
}
