import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Playground() {
  const words = useFrameWords()
  return <Page title={words('playground')}>{null}</Page>
}
