export type Bounds = { left: number; top: number; right: number; bottom: number }
export type Size = { width: number; height: number }

/** What of a picture is seen: its middle, and how many pixels a step is in each direction. */
export type Camera = { x: number; y: number; across: number; down: number }

const MARGIN = 44 // pixels around the whole: names need them
const STRETCH = 1.7 // how much wider than high, or higher than wide, a picture is drawn to fill its place
const NEAREST = 60 // times the whole

export function boundsOf(spots: Iterable<{ x: number; y: number }>): Bounds {
  const found = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity }
  for (const { x, y } of spots) {
    found.left = Math.min(found.left, x)
    found.right = Math.max(found.right, x)
    found.top = Math.min(found.top, y)
    found.bottom = Math.max(found.bottom, y)
  }
  return found.left <= found.right ? found : { left: -1, top: -1, right: 1, bottom: 1 }
}

/** All of it, as large as fits. */
export function whole(bounds: Bounds, size: Size): Camera {
  const across = Math.max(size.width - 2 * MARGIN, 40) / (bounds.right - bounds.left || 1)
  const down = Math.max(size.height - 2 * MARGIN, 40) / (bounds.bottom - bounds.top || 1)
  return {
    x: (bounds.left + bounds.right) / 2,
    y: (bounds.top + bounds.bottom) / 2,
    across: Math.min(across, STRETCH * down),
    down: Math.min(down, STRETCH * across),
  }
}

/** A part of it: as near as shows all of the part, but no nearer than `most` times the whole. */
export function closeUp(part: Bounds, all: Camera, size: Size, most = 6): Camera {
  const wide = ((part.right - part.left) * all.across) / Math.max(size.width - 4 * MARGIN, 40)
  const high = ((part.bottom - part.top) * all.down) / Math.max(size.height - 4 * MARGIN, 40)
  const times = Math.min(most, Math.max(1, 1 / Math.max(wide, high, 1e-6)))
  return {
    x: (part.left + part.right) / 2,
    y: (part.top + part.bottom) / 2,
    across: all.across * times,
    down: all.down * times,
  }
}

/** Nearer or farther by `times`; the point at these pixels stays where it is. */
export function zoomed(
  camera: Camera,
  all: Camera,
  size: Size,
  times: number,
  at: { x: number; y: number },
): Camera {
  const now = camera.across / all.across
  const next = Math.min(NEAREST, Math.max(0.5, now * times))
  const across = all.across * next
  const down = all.down * next
  const apart = { x: at.x - size.width / 2, y: at.y - size.height / 2 }
  return {
    x: camera.x + apart.x / camera.across - apart.x / across,
    y: camera.y + apart.y / camera.down - apart.y / down,
    across,
    down,
  }
}

export function moved(camera: Camera, pixels: { x: number; y: number }): Camera {
  return { ...camera, x: camera.x - pixels.x / camera.across, y: camera.y - pixels.y / camera.down }
}
