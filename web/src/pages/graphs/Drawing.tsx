import { useComputedColorScheme } from '@mantine/core'
import { useReducedMotion } from '@mantine/hooks'
import { GraphChart, type GraphSeriesOption } from 'echarts/charts'
import {
  LegendComponent,
  type LegendComponentOption,
  TooltipComponent,
  type TooltipComponentOption,
} from 'echarts/components'
import { type ComposeOption, type ECharts, init, use } from 'echarts/core'
import { CanvasRenderer } from 'echarts/renderers'
import { useEffect, useMemo, useRef } from 'react'
import type { Drawn } from './calls'
import classes from './Graphs.module.css'
import { useGraphsWords } from './graphs.words'

use([GraphChart, LegendComponent, TooltipComponent, CanvasRenderer])

type Option = ComposeOption<GraphSeriesOption | LegendComponentOption | TooltipComponentOption>

const SHADES = ['#4a8f7e', '#c08a3e', '#7b83c4', '#b8655f', '#5d95b5', '#8f7a5a', '#9a6fa3', '#6f8f4a']
const LABELLED = 60 // nodes; above that a label appears only under the pointer

/** Nodes and edges on a canvas, held together by springs. */
export function Drawing({
  drawn,
  chosen,
  middle,
  onOpen,
}: {
  drawn: Drawn
  chosen: string | null
  middle: string | null
  onOpen: (id: string) => void
}) {
  const words = useGraphsWords()
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<ECharts>(null)
  const scheme = useComputedColorScheme('light')
  const still = useReducedMotion()
  const open = useRef(onOpen)
  open.current = onOpen
  const option = useMemo(() => describe(drawn, middle, scheme, still), [drawn, middle, scheme, still])

  useEffect(() => {
    if (!place.current) return
    const made = init(place.current, undefined, { renderer: 'canvas' })
    chart.current = made
    made.on('click', (event) => {
      const node = event.data as { id?: string } | undefined
      if (event.dataType === 'node' && node?.id) open.current(node.id)
    })
    const watch = new ResizeObserver(([seen]) => {
      if (seen && seen.contentRect.width > 0) made.resize() // hidden, nothing has a place
    })
    watch.observe(place.current)
    return () => {
      watch.disconnect()
      made.dispose()
      chart.current = null
    }
  }, [])

  useEffect(() => chart.current?.setOption(option, { notMerge: true }), [option])

  useEffect(() => {
    const index = drawn.nodes.findIndex((one) => one.id === chosen)
    chart.current?.dispatchAction({
      type: index < 0 ? 'unselect' : 'select',
      seriesIndex: 0,
      dataIndex: index < 0 ? drawn.nodes.map((_, place) => place) : index,
    })
  }, [chosen, drawn])

  return (
    <div
      ref={place}
      className={classes.canvas}
      role="img"
      aria-label={`${words('pictureOf')}: ${words('nodes', { count: drawn.nodes.length })}`}
    />
  )
}

function describe(drawn: Drawn, middle: string | null, scheme: 'light' | 'dark', still: boolean): Option {
  const ink = scheme === 'dark' ? '#d5dbd9' : '#2b3230'
  const line = scheme === 'dark' ? '#55605d' : '#b4bebb'
  const card = scheme === 'dark' ? '#1f2423' : '#ffffff'
  const types = [...new Set(drawn.nodes.map((one) => one.node_type))]
  const degree = new Map<string, number>()
  for (const edge of drawn.edges) {
    for (const id of [edge.from_id, edge.to_id]) degree.set(id, (degree.get(id) ?? 0) + 1)
  }
  const few = drawn.nodes.length <= LABELLED
  return {
    color: SHADES,
    animation: !still,
    tooltip: {
      renderMode: 'richText',
      confine: true,
      backgroundColor: card,
      borderColor: line,
      textStyle: { color: ink },
      formatter: (given) => {
        const about = (Array.isArray(given) ? given[0] : given)?.data as { told?: string } | undefined
        return about?.told ?? ''
      },
    },
    legend: {
      data: types.slice(0, SHADES.length),
      type: 'plain',
      left: 12,
      top: 10,
      icon: 'circle',
      itemWidth: 9,
      itemHeight: 9,
      textStyle: { color: ink },
      backgroundColor: card,
      borderRadius: 8,
      padding: [6, 10],
    },
    series: [
      {
        type: 'graph',
        layout: 'force',
        roam: true,
        zoom: few ? 1 : Math.max(0.35, 10 / Math.sqrt(drawn.nodes.length)),
        nodeScaleRatio: 0.4,
        draggable: true,
        selectedMode: 'single',
        top: 56,
        bottom: 24,
        categories: types.map((name) => ({ name })),
        force: {
          repulsion: few ? 480 : 60,
          edgeLength: few ? [90, 170] : [20, 70],
          gravity: few ? 0.12 : 0.16,
          friction: 0.2,
          layoutAnimation: !still,
        },
        data: drawn.nodes.map((node) => ({
          id: node.id,
          name: node.id,
          category: types.indexOf(node.node_type),
          symbolSize: Math.min(
            12 + 4 * Math.sqrt(degree.get(node.id) ?? 0) + (node.id === middle ? 10 : 0),
            40,
          ),
          told: wrapped(node.content.slice(0, 300)),
          label: { formatter: shortened(node.content) },
        })),
        edges: drawn.edges.map((edge) => ({
          source: edge.from_id,
          target: edge.to_id,
          told: edge.edge_type,
          label: { formatter: edge.edge_type },
        })),
        label: {
          show: few,
          position: 'bottom',
          color: ink,
          fontSize: 11,
          width: 150,
          overflow: 'break',
          lineHeight: 14,
          textBorderColor: card,
          textBorderWidth: 3,
        },
        edgeLabel: { show: few, color: ink, fontSize: 10, textBorderColor: card, textBorderWidth: 3 },
        edgeSymbol: ['none', 'arrow'],
        edgeSymbolSize: 6,
        lineStyle: { color: line, width: 1.2, curveness: 0.06, opacity: 0.9 },
        labelLayout: { hideOverlap: true },
        emphasis: { focus: 'adjacency', label: { show: true }, scale: 1.1 },
        select: { itemStyle: { borderColor: ink, borderWidth: 3 }, label: { show: true } },
      },
    ],
  }
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 44 ? `${line.slice(0, 42)}…` : line
}

/** Text on a canvas does not break by itself. */
function wrapped(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/(.{1,46})(\s|$)/g, '$1\n')
    .trim()
}
