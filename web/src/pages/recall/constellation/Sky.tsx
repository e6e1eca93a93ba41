import { Button, Group, Text, useComputedColorScheme } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconMaximize } from '@tabler/icons-react'
import { ScatterChart } from 'echarts/charts'
import { DataZoomInsideComponent, GridComponent, TooltipComponent } from 'echarts/components'
import { type ECharts, use } from 'echarts/core'
import { LabelLayout } from 'echarts/features'
import { CanvasRenderer } from 'echarts/renderers'
import { useMemo, useRef } from 'react'
import { Chart } from '../Chart'
import { useInk } from '../ink'
import { usePlace } from '../place'
import { useRecallWords } from '../recall.words'
import { hue } from './hues'
import type { Cluster } from './reading'
import classes from './Sky.module.css'

use([ScatterChart, GridComponent, TooltipComponent, DataZoomInsideComponent, LabelLayout, CanvasRenderer])

const MARGIN = 0.1 // of the map, around it: labels need it

/** The map on a canvas: move, zoom, point, click. */
export function Sky({ clusters }: { clusters: readonly Cluster[] }) {
  const words = useRecallWords()
  const ink = useInk()
  const dark = useComputedColorScheme('light') === 'dark'
  const place = usePlace()
  const narrow = useMediaQuery('(max-width: 48em)')
  const now = useRef({ clusters, place })
  now.current = { clusters, place }
  const chart = useRef<ECharts | null>(null)
  const total = clusters.reduce((sum, cluster) => sum + cluster.stars.length, 0)

  const option = useMemo(() => {
    const size = total > 5000 ? 4 : total > 800 ? 6 : 9
    const axis = (of: 'x' | 'y') => {
      let [low, high] = [Infinity, -Infinity]
      for (const { stars } of clusters) {
        for (const star of stars) {
          low = Math.min(low, star[of])
          high = Math.max(high, star[of])
        }
      }
      const margin = (high - low || 1) * MARGIN
      return { type: 'value', show: false, min: low - margin, max: high + margin }
    }
    return {
      animation: false,
      grid: { left: 8, right: 8, top: 8, bottom: 8, containLabel: false },
      xAxis: axis('x'),
      yAxis: axis('y'),
      dataZoom: [
        { type: 'inside', xAxisIndex: 0, filterMode: 'none', zoomOnMouseWheel: true, minSpan: 2 },
        { type: 'inside', yAxisIndex: 0, filterMode: 'none', zoomOnMouseWheel: true, minSpan: 2 },
      ],
      tooltip: {
        trigger: 'item',
        renderMode: 'richText', // HTML would break the content security policy
        confine: true,
        backgroundColor: ink.card,
        borderColor: ink.line,
        textStyle: { color: ink.text, fontSize: 13, width: 280, overflow: 'break' },
        formatter: ({ seriesIndex, dataIndex }: { seriesIndex: number; dataIndex: number }) =>
          clusters[seriesIndex]?.stars[dataIndex]?.title ?? '',
      },
      series: [
        ...clusters.map((cluster) => ({
          type: 'scatter',
          data: cluster.stars.map((star) => [star.x, star.y]),
          symbolSize: cluster.number < 0 ? size * 0.7 : size,
          large: true,
          largeThreshold: 2000,
          progressive: 0,
          cursor: 'pointer',
          itemStyle: { color: hue(cluster.number, dark, ink.soft), opacity: cluster.number < 0 ? 0.45 : 0.8 },
          emphasis: { scale: 1.6, itemStyle: { opacity: 1 } },
        })),
        {
          type: 'scatter',
          data: clusters
            .filter((cluster) => cluster.number >= 0)
            .map((cluster) => ({
              value: [cluster.x, cluster.y],
              name: narrow ? (cluster.label.split(', ')[0] ?? '') : cluster.label,
              label: { color: hue(cluster.number, dark, ink.text) },
            })),
          symbolSize: 0,
          silent: true,
          z: 5,
          label: {
            show: true,
            formatter: '{b}',
            position: 'top',
            distance: size,
            padding: [2, 6],
            fontSize: narrow ? 11 : 13,
            fontWeight: 600,
            textBorderColor: ink.card,
            textBorderWidth: 4,
            width: narrow ? 110 : 220,
            overflow: 'truncate',
          },
          labelLayout: { hideOverlap: true },
        },
      ],
    }
  }, [clusters, total, ink, dark, narrow])

  const listen = (made: ECharts) => {
    chart.current = made
    made.on('click', ({ seriesIndex, dataIndex }) => {
      const star = now.current.clusters[seriesIndex ?? -1]?.stars[dataIndex]
      if (star) now.current.place.set({ capsule: star.id })
    })
  }
  const whole = () =>
    chart.current?.dispatchAction({
      type: 'dataZoom',
      batch: [0, 1].map((dataZoomIndex) => ({ dataZoomIndex, start: 0, end: 100 })),
    })

  return (
    <section className={classes.card} aria-label={words('constellation')}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" c="dimmed">
          {words('mapHint')}
        </Text>
        <Button
          variant="subtle"
          size="compact-xs"
          leftSection={<IconMaximize size={14} stroke={1.6} aria-hidden />}
          onClick={whole}
        >
          {words('whole')}
        </Button>
      </Group>
      <Chart
        className={classes.sky}
        option={option}
        onReady={listen}
        label={words('mapLabel', {
          count: total,
          clusters: clusters.filter((cluster) => cluster.number >= 0).length,
        })}
      />
    </section>
  )
}
