import { BarChart } from 'echarts/charts'
import { BrushComponent, GridComponent, TooltipComponent } from 'echarts/components'
import { type ECharts, use } from 'echarts/core'
import { CanvasRenderer } from 'echarts/renderers'
import { useMemo, useRef } from 'react'
import { useFormat } from '@/app/session'
import { useInk } from '@/parts/board/ink'
import { Chart } from '../Chart'
import { useRecallWords } from '../recall.words'
import type { Span } from './spans'
import classes from './Timeline.module.css'

use([BarChart, GridComponent, TooltipComponent, BrushComponent, CanvasRenderer])

/** The density of what was kept; dragging over it, or a click, chooses a period. */
export function Band({
  spans,
  from,
  to,
  onChoose,
}: {
  spans: readonly Span[]
  from: string
  to: string
  onChoose: (first: Span, last: Span) => void
}) {
  const words = useRecallWords()
  const format = useFormat()
  const ink = useInk()
  const now = useRef({ spans, onChoose })
  now.current = { spans, onChoose }

  const option = useMemo(() => {
    const day = (date: string) => format.day(`${date}T12:00:00Z`)
    const inside = (span: Span) => (!from || span.end >= from) && (!to || span.start <= to)
    return {
      animation: false,
      grid: { left: 4, right: 4, top: 12, bottom: 22, outerBoundsMode: 'same' },
      tooltip: {
        trigger: 'axis',
        renderMode: 'richText', // HTML would break the content security policy
        axisPointer: { type: 'shadow', shadowStyle: { color: ink.accent, opacity: 0.1 } },
        backgroundColor: ink.card,
        borderColor: ink.line,
        textStyle: { color: ink.text, fontSize: 12 },
        formatter: (hits: { dataIndex: number }[]) => {
          const span = spans[hits[0]?.dataIndex ?? -1]
          if (!span) return ''
          const when = span.start === span.end ? day(span.start) : `${day(span.start)} – ${day(span.end)}`
          return [when, format.number(span.count), span.topics.slice(0, 3).join(', ')]
            .filter(Boolean)
            .join('\n')
        },
      },
      xAxis: {
        type: 'category',
        data: spans.map((span) => span.start),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: ink.line } },
        axisLabel: { color: ink.soft, hideOverlap: true, formatter: day },
      },
      yAxis: {
        type: 'value',
        minInterval: 1,
        splitNumber: 3,
        axisLabel: { color: ink.soft, formatter: (value: number) => (value ? format.number(value) : '') },
        splitLine: { lineStyle: { color: ink.line, opacity: 0.6 } },
      },
      toolbox: { show: false },
      brush: {
        toolbox: [],
        xAxisIndex: 0,
        brushMode: 'single',
        transformable: false,
        removeOnClick: true,
        brushStyle: { color: ink.accent, opacity: 0.18, borderColor: ink.accent, borderWidth: 1 },
        outOfBrush: { colorAlpha: 1 },
        throttleType: 'debounce',
        throttleDelay: 0,
      },
      series: [
        {
          type: 'bar',
          barMaxWidth: 36,
          barCategoryGap: '18%',
          data: spans.map((span) => ({
            value: span.count,
            itemStyle: { color: inside(span) ? ink.accent : ink.line, borderRadius: [3, 3, 0, 0] },
          })),
        },
      ],
    }
  }, [spans, from, to, ink, format])

  const listen = (chart: ECharts) => {
    const choose = (one: number, other: number) => {
      const { spans: all, onChoose: chosen } = now.current
      const [first, last] = [
        all[Math.max(0, Math.min(one, other))],
        all[Math.min(all.length - 1, Math.max(one, other))],
      ]
      if (first && last) chosen(first, last)
    }
    chart.on('finished', () => {
      chart.dispatchAction({
        type: 'takeGlobalCursor',
        key: 'brush',
        brushOption: { brushType: 'lineX', brushMode: 'single' },
      })
    })
    chart.on('brushEnd', (event) => {
      const [area] = (event as { areas: { coordRange: [number, number] }[] }).areas
      if (!area) return
      chart.dispatchAction({ type: 'brush', areas: [] }) // the colours of the bars say it from here on
      choose(area.coordRange[0], area.coordRange[1])
    })
    chart.getZr().on('click', ({ offsetX, offsetY }) => {
      if (!chart.containPixel('grid', [offsetX, offsetY])) return
      const at = chart.convertFromPixel({ xAxisIndex: 0 }, offsetX)
      if (typeof at === 'number') choose(at, at)
    })
  }

  const peak = spans.reduce((most, span) => (span.count > most.count ? span : most), spans[0] as Span)
  const total = spans.reduce((sum, span) => sum + span.count, 0)
  if (!peak) return null
  return (
    <Chart
      className={classes.band}
      option={option}
      onReady={listen}
      label={words('bandLabel', {
        total: format.number(total),
        from: format.day(`${spans[0]?.start}T12:00:00Z`),
        to: format.day(`${spans.at(-1)?.end}T12:00:00Z`),
        most: format.number(peak.count),
        peak: format.day(`${peak.start}T12:00:00Z`),
      })}
    />
  )
}
