import { type ECharts, type EChartsCoreOption, init } from 'echarts/core'
import { useEffect, useRef } from 'react'

/** An echarts drawing that grows and shrinks with its place. Whoever imports it has registered what the option needs. */
export function Chart({
  option,
  label,
  className,
  onReady,
}: {
  option: EChartsCoreOption
  label: string
  className?: string
  onReady?: (chart: ECharts) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const chart = useRef<ECharts | null>(null)
  const ready = useRef(onReady)
  ready.current = onReady
  useEffect(() => {
    if (!box.current) return
    const made = init(box.current, undefined, { renderer: 'canvas' })
    chart.current = made
    ready.current?.(made)
    made.on('finished', () => box.current?.setAttribute('aria-busy', 'false')) // from here on it can be clicked
    const watch = new ResizeObserver(() => made.resize())
    watch.observe(box.current)
    return () => {
      watch.disconnect()
      made.dispose()
      chart.current = null
    }
  }, [])
  useEffect(() => {
    box.current?.setAttribute('aria-busy', 'true')
    chart.current?.setOption(option, { notMerge: true })
  }, [option])
  return <div ref={box} role="img" aria-label={label} className={className} />
}
