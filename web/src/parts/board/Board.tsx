import { ActionIcon, VisuallyHidden } from '@mantine/core'
import { IconMaximize, IconMinus, IconPlus } from '@tabler/icons-react'
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import classes from './Board.module.css'
import { useBoardWords } from './board.words'
import { type Bounds, type Camera, closeUp, moved, type Size, whole, zoomed } from './camera'
import { useGestures } from './gestures'

export type Spot = { id: string; x: number; y: number }
export type Zone = { id: string; left: number; top: number; width: number; height: number }
export type Pen = Size & {
  canvas: CanvasRenderingContext2D
  /** How much nearer than the whole. */
  zoom: number
  pointed: string | null
  place: (spot: { x: number; y: number }) => readonly [number, number]
}

const REACH = 16 // pixels from its middle, in which a spot is met
const UPON = 6 // and where a name lies over it
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] } as const

/**
 * A picture of many spots on a canvas: moved, zoomed, pointed at and opened, with pointer, fingers and keyboard.
 *
 * `paint` draws it and gives the names that can be clicked; `spots` are those that can be met. What is pointed at is
 * told in a card and to screen readers.
 */
export function Board({
  spots,
  bounds,
  look,
  paint,
  label,
  tell,
  card,
  onOpen,
  onZone,
}: {
  spots: readonly Spot[]
  bounds: Bounds
  look: Bounds | null
  paint: (pen: Pen) => Zone[]
  label: string
  tell: (id: string) => string
  card: (id: string) => ReactNode
  onOpen: (id: string) => void
  onZone?: (id: string) => void
}) {
  const words = useBoardWords()
  const keys = useId()
  const canvas = useRef<HTMLCanvasElement>(null)
  const camera = useRef<Camera | null>(null)
  const size = useRef<Size>({ width: 0, height: 0 })
  const zones = useRef<Zone[]>([])
  const frame = useRef(0)
  const [pointed, setPointed] = useState<(Spot & { left: number; top: number }) | null>(null)
  const now = useRef({ spots, bounds, paint, pointed, onOpen, onZone })
  now.current = { spots, bounds, paint, pointed, onOpen, onZone }

  const all = () => whole(now.current.bounds, size.current)
  const see = (): Camera => (camera.current ??= all())
  const place = ({ x, y }: { x: number; y: number }) => {
    const { x: middle, y: centre, across, down } = see()
    return [
      size.current.width / 2 + (x - middle) * across,
      size.current.height / 2 + (y - centre) * down,
    ] as const
  }
  const draw = () => {
    cancelAnimationFrame(frame.current)
    frame.current = requestAnimationFrame(() => {
      const pen = canvas.current?.getContext('2d')
      const { width, height } = size.current
      if (!canvas.current || !pen || !width || !height) return
      const fine = window.devicePixelRatio || 1
      pen.setTransform(fine, 0, 0, fine, 0, 0)
      pen.clearRect(0, 0, width, height)
      const zoom = see().across / all().across
      zones.current = now.current.paint({
        canvas: pen, width, height, zoom, place, pointed: now.current.pointed?.id ?? null,
      }) // biome-ignore format: what a painter is given
      const { x, y, across, down } = see()
      canvas.current.dataset.view = JSON.stringify({ x, y, across, down, names: zones.current.length })
    })
  }
  const show = (next: Camera) => {
    camera.current = next
    setPointed((before) => (before ? at(before) : null))
    draw()
  }
  const at = (spot: Spot) => {
    const [left, top] = place(spot)
    return { ...spot, left, top }
  }
  const meet = (left: number, top: number, zone: Zone | undefined): Spot | null => {
    let best: Spot | null = null
    let nearest = (zone ? UPON : REACH) ** 2
    for (const spot of now.current.spots) {
      const [x, y] = place(spot)
      const far = (x - left) ** 2 + (y - top) ** 2
      if (far < nearest) [best, nearest] = [spot, far]
    }
    return best
  }
  const named = (left: number, top: number) =>
    zones.current.find(
      (zone) =>
        now.current.onZone &&
        left >= zone.left &&
        left <= zone.left + zone.width &&
        top >= zone.top &&
        top <= zone.top + zone.height,
    )

  useGestures(canvas, {
    move: (pixels) => show(moved(see(), pixels)),
    zoom: (times, point) => show(zoomed(see(), all(), size.current, times, point)),
    point: (point) => {
      const zone = point && named(point.x, point.y)
      const spot = point && meet(point.x, point.y, zone ?? undefined)
      if (canvas.current) canvas.current.toggleAttribute('data-over', Boolean(spot || zone))
      setPointed((before) => (before?.id === spot?.id ? before : spot ? at(spot) : null))
    },
    click: (point) => {
      const zone = named(point.x, point.y)
      const spot = meet(point.x, point.y, zone)
      if (spot) now.current.onOpen(spot.id)
      else if (zone) now.current.onZone?.(zone.id)
    },
  })

  useEffect(() => {
    const box = canvas.current
    if (!box) return
    const watch = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = box
      if (!width || !height) return // hidden, nothing has a place
      const before = camera.current && all()
      size.current = { width, height }
      const fine = window.devicePixelRatio || 1
      box.width = Math.round(width * fine)
      box.height = Math.round(height * fine)
      if (before && camera.current) {
        const times = camera.current.across / before.across
        const next = all()
        camera.current = { ...camera.current, across: next.across * times, down: next.down * times }
      }
      draw()
    })
    watch.observe(box)
    return () => {
      watch.disconnect()
      cancelAnimationFrame(frame.current)
    }
  }, [])
  useEffect(() => {
    if (size.current.width) show(look ? closeUp(look, all(), size.current) : all())
  }, [look, bounds])
  useEffect(draw, [paint, spots, pointed])

  const press = (event: KeyboardEvent) => {
    const middle = { x: size.current.width / 2, y: size.current.height / 2 }
    if (event.key === '+' || event.key === '=') show(zoomed(see(), all(), size.current, 1.5, middle))
    else if (event.key === '-') show(zoomed(see(), all(), size.current, 1 / 1.5, middle))
    else if (event.key === '0') show(all())
    else if (event.key === 'Enter' && pointed) onOpen(pointed.id)
    else if (event.key === 'Escape' && pointed) setPointed(null)
    else if (event.key in KEYS) go(KEYS[event.key as keyof typeof KEYS])
    else return
    event.preventDefault()
  }
  /** To the nearest spot in this direction; the picture follows. */
  const go = ([right, down]: readonly [number, number]) => {
    const [x, y] = pointed ? place(pointed) : [size.current.width / 2, size.current.height / 2]
    let best: Spot | null = null
    let least = Infinity
    for (const spot of spots) {
      if (spot.id === pointed?.id) continue
      const [left, top] = place(spot)
      const ahead = (left - x) * right + (top - y) * down
      const aside = Math.abs((left - x) * down) + Math.abs((top - y) * right)
      const cost = ahead + 2.5 * aside
      if ((ahead > 0 || !pointed) && cost < least) [best, least] = [spot, cost]
    }
    if (!best) return
    const [left, top] = place(best)
    const { width, height } = size.current
    if (left < 40 || top < 40 || left > width - 40 || top > height - 40)
      show(moved(see(), { x: width / 2 - left, y: height / 2 - top }))
    setPointed(at(best))
  }
  const zoomBy = (times: number) => () =>
    show(zoomed(see(), all(), size.current, times, { x: size.current.width / 2, y: size.current.height / 2 }))
  const flip = pointed && pointed.left > size.current.width / 2
  const above = pointed && pointed.top > size.current.height / 2
  return (
    <div className={classes.board}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        aria-describedby={keys}
        tabIndex={0}
        className={classes.canvas}
        onKeyDown={press}
        onBlur={() => setPointed(null)}
      />
      <VisuallyHidden id={keys}>{words('keys')}</VisuallyHidden>
      <VisuallyHidden role="status">{pointed ? tell(pointed.id) : ''}</VisuallyHidden>
      {pointed && (
        <div
          className={classes.card}
          aria-hidden
          style={{
            [flip ? 'right' : 'left']: flip ? size.current.width - pointed.left + 14 : pointed.left + 14,
            [above ? 'bottom' : 'top']: above ? size.current.height - pointed.top + 14 : pointed.top + 14,
          }}
        >
          {card(pointed.id)}
        </div>
      )}
      <div className={classes.buttons}>
        <ActionIcon variant="default" aria-label={words('nearer')} onClick={zoomBy(1.6)}>
          <IconPlus size={16} stroke={1.6} aria-hidden />
        </ActionIcon>
        <ActionIcon variant="default" aria-label={words('farther')} onClick={zoomBy(1 / 1.6)}>
          <IconMinus size={16} stroke={1.6} aria-hidden />
        </ActionIcon>
        <ActionIcon variant="default" aria-label={words('whole')} onClick={() => show(all())}>
          <IconMaximize size={16} stroke={1.6} aria-hidden />
        </ActionIcon>
      </div>
    </div>
  )
}
