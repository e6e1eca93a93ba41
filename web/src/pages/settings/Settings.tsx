import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Settings() {
  const words = useFrameWords()
  return <Page title={words('settings')}>{null}</Page>
}
