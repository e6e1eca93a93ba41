import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './app/global.css'
import './app/words'
import { MantineProvider } from '@mantine/core'
import { Notifications, notifications } from '@mantine/notifications'
import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { RouterProvider } from 'react-router'
import { ApiError } from './api/client'
import { router } from './app/routes'
import { theme, variables } from './app/theme'

const NONCE = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''
setNonce(NONCE) // for the styles with which Mantine's overlays stop the page behind them from scrolling

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status >= 502),
    },
  },
  // What could not be done is said, in the server's words. `meta: { quiet: true }`: the page says it itself.
  mutationCache: new MutationCache({
    onError: (error, _values, _context, mutation) => {
      if (!mutation.meta?.quiet) notifications.show({ color: 'red', message: error.message, autoClose: 8000 })
    },
  }),
})

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => NONCE}
    >
      <QueryClientProvider client={client}>
        {/* Where nobody writes: a composer is at the bottom, a title and its buttons at the top left and right. */}
        <Notifications position="top-center" />
        {/* What the address says is shown at once: in a transition the page before would stay under the new address. */}
        <RouterProvider router={router} useTransitions={false} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
