import i18next from 'i18next'
import { initReactI18next, useTranslation } from 'react-i18next'

export const LANGUAGES = { en: 'English', zh: '中文' } as const
export type Language = keyof typeof LANGUAGES

const KEPT = 'keepstone.language'

void i18next.use(initReactI18next).init({
  lng: chosen(),
  fallbackLng: 'en',
  resources: {},
  interpolation: { escapeValue: false }, // React escapes
  initAsync: false,
})
document.documentElement.lang = i18next.language

/** What was chosen here, else what the browser asks for. */
function chosen(): Language {
  const wanted = localStorage.getItem(KEPT) ?? navigator.language
  return wanted.toLowerCase().startsWith('zh') ? 'zh' : 'en'
}

export function speak(language: string): void {
  const known: Language = language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
  localStorage.setItem(KEPT, known)
  document.documentElement.lang = known
  if (i18next.language !== known) void i18next.changeLanguage(known)
}

export function spoken(): Language {
  return i18next.language as Language
}

type Base<Key> = Key extends `${infer Name}_one` | `${infer Name}_other` ? Name : Key
type Translated<Words> = { [Key in Exclude<keyof Words, `${string}_one`>]: string }

/**
 * The words of one page in both languages; the hook that says them.
 *
 * `count_one` and `count_other` are the forms of `count` (Chinese has only `_other`); `{{name}}` is filled in. What
 * English says and Chinese does not is a type error.
 */
export function defineWords<const Words extends Record<string, string>>(
  name: string,
  words: { en: Words; zh: Translated<Words> },
) {
  i18next.addResourceBundle('en', name, words.en)
  i18next.addResourceBundle('zh', name, words.zh)
  return function useWords(): (key: Base<keyof Words>, values?: Record<string, string | number>) => string {
    const { t } = useTranslation(name)
    return t as never
  }
}
