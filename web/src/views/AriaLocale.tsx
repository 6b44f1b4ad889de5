/** The language of React Aria's own words. Only what uses React Aria brings it, so that the first load is without. */

import type { ReactNode } from "react"
import { I18nProvider } from "react-aria-components"

import { useLocale } from "./language.tsx"

export function AriaLocale({ children }: { children: ReactNode }) {
  return <I18nProvider locale={useLocale() === "ko" ? "ko-KR" : "en-US"}>{children}</I18nProvider>
}
