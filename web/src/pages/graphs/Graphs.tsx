import { Button, SegmentedControl, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { useNew } from '@/app/keys/keys'
import { useAddress } from '@/parts/address'
import { Failed } from '@/parts/Failed'
import { Page } from '@/parts/Page'
import { Skeletons } from '@/parts/Skeletons'
import { graphsQuery } from './calls'
import { GraphPicker } from './GraphPicker'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'
import { NodeForm } from './NodeForm'
import { NodeList } from './NodeList'
import { NodeSheet } from './NodeSheet'
import { NoNodes } from './NoNodes'
import { Overview } from './Overview'
import { RecallBox } from './RecallBox'
import { Results } from './Results'

const Picture = lazy(() => import('./picture/Picture'))

/** The graphs of the account: find nodes, look at them and at how they hang together. */
export default function Graphs() {
  const words = useGraphsWords()
  const [params, change] = useAddress()
  const graphs = useQuery(graphsQuery(false))
  const [storing, store] = useDisclosure()
  const named = params.get('graph')
  const graph =
    graphs.data?.items.find((one) => one.id === named) ?? graphs.data?.items.find((one) => one.is_default)
  useNew(store.open, graph !== undefined)
  const node = params.get('node')
  const asked = params.get('q')
  const view = params.get('view') === 'picture' ? 'picture' : 'list'
  const open = (id: string | null) => change({ node: id })
  const bare = graph && graph.node_count === 0 && !asked && !params.get('deleted') && !params.get('as_of')
  const picture = (lit: ReadonlySet<string> | null) =>
    graph && (
      <Suspense fallback={<div className={classes.picture} />}>
        <Picture graph={graph.id} chosen={node} lit={lit} onOpen={open} />
      </Suspense>
    )
  return (
    <Page
      title={words('title')}
      about={words('about')}
      actions={
        graph && (
          <>
            <GraphPicker graphs={graphs.data?.items ?? []} chosen={graph} />
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={store.open}>
              {words('store')}
            </Button>
          </>
        )
      }
      aside={graph && <NodeSheet graph={graph.id} node={node} onOpen={open} />}
    >
      {graphs.isPending && <Skeletons />}
      {graphs.isError && <Failed error={graphs.error} retry={graphs.refetch} />}
      {graph &&
        (bare ? (
          <NoNodes graph={graph.id} onStore={store.open} />
        ) : (
          <Stack gap="md">
            <RecallBox graph={graph.id} />
            <Overview key={graph.id} graph={graph.id}>
              <SegmentedControl
                aria-label={words('view')}
                value={view}
                onChange={(value) => change({ view: value === 'list' ? null : value })}
                data={[
                  { value: 'list', label: words('list') },
                  { value: 'picture', label: words('picture') },
                ]}
              />
            </Overview>
            {asked ? (
              <Results graph={graph.id} question={asked} chosen={node} onOpen={open}>
                {view === 'picture' ? picture : undefined}
              </Results>
            ) : view === 'list' ? (
              <NodeList graph={graph.id} chosen={node} onOpen={open} />
            ) : (
              picture(null)
            )}
          </Stack>
        ))}
      {graph && <NodeForm graph={graph.id} opened={storing} onClose={store.close} onStored={open} />}
    </Page>
  )
}
