import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Quorum() {
  const words = useFrameWords()
  return <Page title={words('quorum')}>{null}</Page>
}
