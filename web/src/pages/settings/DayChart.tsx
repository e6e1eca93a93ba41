import { Box, useComputedColorScheme } from '@mantine/core'
import { BarChart } from 'echarts/charts'
import { GridComponent, LegendComponent, TooltipComponent } from 'echarts/components'
import { init, use } from 'echarts/core'
import { CanvasRenderer } from 'echarts/renderers'
import { useEffect, useRef } from 'react'
import { useFormat } from '@/app/session'
import type { byDay } from './spending'

use([BarChart, GridComponent, LegendComponent, TooltipComponent, CanvasRenderer])

const COLOURS = {
  light: ['#3f6b62', '#8fb9ae', '#b08a4f', '#6b7f99', '#a86a5c'],
  dark: ['#6da596', '#3f6b62', '#c9a566', '#8aa0bd', '#c98677'],
}

/** Stacked bars, one a day. */
export default function DayChart({
  days: { days, series },
  name,
  label,
}: {
  days: ReturnType<typeof byDay>
  name: (action: string) => string
  label: string
}) {
  const place = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  const format = useFormat()
  useEffect(() => {
    if (!place.current) return
    const style = getComputedStyle(place.current)
    const soft = style.getPropertyValue('--soft').trim()
    const line = style.getPropertyValue('--line').trim()
    const card = style.getPropertyValue('--card').trim()
    const chart = init(place.current)
    chart.setOption({
      animation: false,
      color: COLOURS[scheme],
      textStyle: { fontFamily: style.fontFamily },
      grid: { left: 4, right: 8, top: 36, bottom: 4, outerBoundsMode: 'same' },
      legend: {
        type: 'scroll',
        top: 0,
        left: 0,
        right: 8,
        pageIconColor: soft,
        pageTextStyle: { color: soft },
        textStyle: { color: soft },
        itemWidth: 12,
        itemHeight: 12,
        icon: 'roundRect',
      },
      tooltip: {
        trigger: 'axis',
        renderMode: 'richText',
        backgroundColor: card,
        borderColor: line,
        textStyle: { color: style.color },
        axisPointer: { type: 'shadow' },
        valueFormatter: (value: unknown) => format.number(Number(value)),
      },
      xAxis: {
        type: 'category',
        data: days.map((day) => format.day(`${day}T12:00:00Z`)),
        axisLine: { lineStyle: { color: line } },
        axisTick: { show: false },
        axisLabel: { color: soft, hideOverlap: true },
      },
      yAxis: {
        type: 'value',
        minInterval: 1,
        splitLine: { lineStyle: { color: line } },
        axisLabel: { color: soft, formatter: (value: number) => format.number(value) },
      },
      series: series.map(({ action, values }) => ({
        type: 'bar' as const,
        stack: 'all',
        name: name(action),
        data: values,
        barMaxWidth: 28,
      })),
    })
    const watch = new ResizeObserver(() => chart.resize())
    watch.observe(place.current)
    return () => {
      watch.disconnect()
      chart.dispose()
    }
  }, [days, series, name, scheme, format])
  return <Box ref={place} h={260} role="img" aria-label={label} />
}
