import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Trash() {
  const words = useFrameWords()
  return <Page title={words('trash')}>{null}</Page>
}
