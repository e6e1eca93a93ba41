import { defineWords } from '@/app/words'

export const useModelPickerWords = defineWords('modelPicker', {
  en: {
    model: 'Model',
    default: 'Default',
    defaultNamed: 'Default: {{model}}',
    search: 'Find a model',
    none: 'No model by that name',
    nothing: 'No model is connected yet',
    last: 'Last used',
    others: 'Other models',
  },
  zh: {
    model: '模型',
    default: '默认',
    defaultNamed: '默认：{{model}}',
    search: '查找模型',
    none: '没有这个名字的模型',
    nothing: '还没有连接模型',
    last: '上次使用',
    others: '其他模型',
  },
})
