/** The language of what is drawn: that of the session that is open, else the browser's choice. */

import { createContext, useContext, useMemo } from "react"

import { speaker, type Say } from "../texts.ts"
import type { InboxItem, Locale } from "../wire/types.ts"

export const LocaleContext = createContext<Locale>("en")

export const useLocale = (): Locale => useContext(LocaleContext)

export function useSay(): Say {
  const locale = useLocale()
  return useMemo(() => speaker(locale), [locale])
}

/** Who asked: another program by its name, a run of ours as the chat. */
export function askerOf({ asker }: InboxItem, say: Say): string {
  return asker === "run" || asker === "" ? say("ourChat") : asker
}

/** The time of day today, else the day. */
export function formatTime(iso: string, locale: Locale): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return ""
  const isToday = date.toDateString() === new Date().toDateString()
  const options: Intl.DateTimeFormatOptions = isToday ? { timeStyle: "short" } : { month: "short", day: "numeric" }
  return new Intl.DateTimeFormat(locale, isToday ? { ...options, hour12: false } : options).format(date)
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const

/** How long until a moment, in its largest unit; empty where there is none or it has passed. */
export function formatLeft(iso: string, locale: Locale): string {
  const seconds = (Date.parse(iso) - Date.now()) / 1000
  if (!(seconds > 0)) return ""
  const [unit, size] = UNITS.find(([, one]) => seconds >= one) ?? (["minute", 60] as const)
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long" }).format(
    Math.max(1, Math.floor(seconds / size)),
  )
}
