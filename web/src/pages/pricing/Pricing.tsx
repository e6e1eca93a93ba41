import { useFrameWords } from '@/app/frame.words'
import { Page } from '@/parts/Page'

export default function Pricing() {
  const words = useFrameWords()
  return <Page title={words('pricing')}>{null}</Page>
}
