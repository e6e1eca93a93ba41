import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Scopes() {
  const words = useFrameWords()
  return <Page title={words('scopes')}>{null}</Page>
}
