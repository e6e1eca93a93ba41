import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Console() {
  const words = useFrameWords()
  return <Page title={words('console')}>{null}</Page>
}
