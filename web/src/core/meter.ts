/** How full a model's context is, in words. */

import { speaker } from "../texts.ts"
import type { Locale } from "../wire/types.ts"

/** `window`: how many tokens fit, if that is known. */
export function contextText(tokens: number, window: number | null, locale: Locale): string {
  const say = speaker(locale)
  const count = (number: number) => number.toLocaleString(locale)
  if (window === null) return say("contextUsed", { tokens: count(tokens) })
  const percent = (tokens / window).toLocaleString(locale, { style: "percent" })
  return say("contextOf", { percent, tokens: count(tokens), window: count(window) })
}
