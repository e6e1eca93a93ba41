import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Traces() {
  const words = useFrameWords()
  return <Page title={words('traces')}>{null}</Page>
}
