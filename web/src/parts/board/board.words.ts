import { defineWords } from '@/app/words'

export const useBoardWords = defineWords('board', {
  en: {
    nearer: 'Nearer',
    farther: 'Farther',
    whole: 'Show all of it',
    keys: 'Arrow keys go from one to the next, Enter opens it, plus and minus zoom, 0 shows all of it.',
    play: 'Play',
    pause: 'Pause',
    now: 'Now',
  },
  zh: {
    nearer: '放大',
    farther: '缩小',
    whole: '显示全部',
    keys: '方向键逐个移动，回车键打开，加号和减号缩放，0 显示全部。',
    play: '播放',
    pause: '暂停',
    now: '现在',
  },
})
