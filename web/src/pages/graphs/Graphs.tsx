import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Graphs() {
  const words = useFrameWords()
  return <Page title={words('graphs')}>{null}</Page>
}
