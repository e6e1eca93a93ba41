import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Recall() {
  const words = useFrameWords()
  return <Page title={words('recall')}>{null}</Page>
}
