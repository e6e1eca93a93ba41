import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// Into the Python package: the server hands it out under /static/app/, and puts its own nonce in the page.
export default defineConfig({
  base: '/static/app/',
  plugins: [react()],
  resolve: { tsconfigPaths: true },
  html: { cspNonce: '__nonce__' },
  build: {
    outDir: '../src/keepstone/surfaces/web/static/app',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/auth', '/chat/api', '/x_console/api', '/login', '/readyz'].map((path) => [
        path,
        process.env.KEEPSTONE_URL ?? 'http://127.0.0.1:8420',
      ]),
    ),
  },
})
