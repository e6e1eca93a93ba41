import { Button } from '@mantine/core'
import { lazy } from 'react'
import { createBrowserRouter, isRouteErrorResponse, Link, Navigate, useRouteError } from 'react-router'
import { Empty } from '@/parts/Empty'
import { Failed } from '@/parts/Failed'
import { Frame } from './frame'
import { useFrameWords } from './frame.words'

const Recall = lazy(() => import('@/pages/recall/Recall'))
const Playground = lazy(() => import('@/pages/playground/Playground'))
const Quorum = lazy(() => import('@/pages/quorum/Quorum'))
const Rooms = lazy(() => import('@/pages/rooms/Rooms'))
const Graphs = lazy(() => import('@/pages/graphs/Graphs'))
const Scopes = lazy(() => import('@/pages/scopes/Scopes'))
const Memory = lazy(() => import('@/pages/memory/Memory'))
const Traces = lazy(() => import('@/pages/traces/Traces'))
const Trash = lazy(() => import('@/pages/trash/Trash'))
const Settings = lazy(() => import('@/pages/settings/Settings'))
const Pricing = lazy(() => import('@/pages/pricing/Pricing'))
const Console = lazy(() => import('@/pages/console/Console'))

export const router = createBrowserRouter([
  {
    element: <Frame />,
    errorElement: <Fault />,
    children: [
      {
        errorElement: <Fault />,
        children: [
          { path: '/dashboard', element: <Navigate to="/dashboard/recall" replace /> },
          { path: '/dashboard/recall/*', element: <Recall /> },
          { path: '/dashboard/playground/*', element: <Playground /> },
          { path: '/dashboard/quorum', element: <Quorum /> },
          { path: '/dashboard/rooms/*', element: <Rooms /> },
          { path: '/dashboard/graphs/*', element: <Graphs /> },
          { path: '/dashboard/scopes/*', element: <Scopes /> },
          { path: '/dashboard/memory/*', element: <Memory /> },
          { path: '/dashboard/traces/*', element: <Traces /> },
          { path: '/dashboard/trash', element: <Trash /> },
          { path: '/dashboard/settings/*', element: <Settings /> },
          { path: '/pricing', element: <Pricing /> },
          { path: '/x_console/*', element: <Console /> },
          { path: '*', element: <Lost /> },
        ],
      },
    ],
  },
])

function Fault() {
  const error = useRouteError()
  if (isRouteErrorResponse(error) && error.status === 404) return <Lost />
  return (
    <Failed
      error={error instanceof Error ? error : new Error(String(error))}
      retry={() => location.reload()}
    />
  )
}

function Lost() {
  const words = useFrameWords()
  return (
    <Empty
      title={words('lost')}
      action={
        <Button component={Link} to="/dashboard/recall">
          {words('home')}
        </Button>
      }
    />
  )
}
