import { type RefObject, useEffect, useRef } from 'react'

type Point = { x: number; y: number }
type Gestures = {
  move: (pixels: Point) => void
  zoom: (times: number, at: Point) => void
  point: (at: Point | null) => void
  click: (at: Point) => void
}

const STILL = 5 // pixels: less is a click

/** What pointers and wheels do on an element: one drags, two pinch, the wheel zooms, a press without a way is a click. */
export function useGestures(element: RefObject<HTMLElement | null>, gestures: Gestures): void {
  const now = useRef(gestures)
  now.current = gestures
  useEffect(() => {
    const box = element.current
    if (!box) return
    const held = new Map<number, Point>()
    let way = 0
    const inside = (event: { clientX: number; clientY: number }): Point => {
      const { left, top } = box.getBoundingClientRect()
      return { x: event.clientX - left, y: event.clientY - top }
    }
    const pressed = (event: PointerEvent) => {
      if (event.button !== 0) return
      if (held.size === 0) way = 0
      held.set(event.pointerId, inside(event))
      box.setPointerCapture(event.pointerId)
    }
    const moved = (event: PointerEvent) => {
      const here = inside(event)
      const before = held.get(event.pointerId)
      if (!before) {
        if (event.pointerType !== 'touch') now.current.point(here)
        return
      }
      const pixels = { x: here.x - before.x, y: here.y - before.y }
      way += Math.hypot(pixels.x, pixels.y)
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1]
      held.set(event.pointerId, here)
      if (other) {
        const apart = Math.hypot(before.x - other.x, before.y - other.y)
        const next = Math.hypot(here.x - other.x, here.y - other.y)
        if (apart > 0)
          now.current.zoom(next / apart, { x: (here.x + other.x) / 2, y: (here.y + other.y) / 2 })
        now.current.move({ x: pixels.x / 2, y: pixels.y / 2 })
      } else if (way > STILL) {
        now.current.point(null)
        now.current.move(pixels)
      }
    }
    const lifted = (event: PointerEvent) => {
      const alone = held.delete(event.pointerId) && held.size === 0
      if (alone && way <= STILL && event.type === 'pointerup') now.current.click(inside(event))
    }
    const left = () => {
      if (held.size === 0) now.current.point(null)
    }
    const turned = (event: WheelEvent) => {
      event.preventDefault()
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1
      now.current.zoom(Math.exp(-event.deltaY * lines * 0.0015), inside(event))
    }
    box.addEventListener('pointerdown', pressed)
    box.addEventListener('pointermove', moved)
    box.addEventListener('pointerup', lifted)
    box.addEventListener('pointercancel', lifted)
    box.addEventListener('pointerleave', left)
    box.addEventListener('wheel', turned, { passive: false })
    return () => {
      box.removeEventListener('pointerdown', pressed)
      box.removeEventListener('pointermove', moved)
      box.removeEventListener('pointerup', lifted)
      box.removeEventListener('pointercancel', lifted)
      box.removeEventListener('pointerleave', left)
      box.removeEventListener('wheel', turned)
    }
  }, [element])
}
