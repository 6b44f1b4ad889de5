/** The language of what is drawn: that of the session that is open, else the browser's choice. */

import { createContext, useContext, useMemo } from "react"

import { speaker, type Say } from "../texts.ts"
import type { InboxItem, Locale, Session } from "../wire/types.ts"

export const LocaleContext = createContext<Locale>("en")

export const useLocale = (): Locale => useContext(LocaleContext)

export function useSay(): Say {
  const locale = useLocale()
  return useMemo(() => speaker(locale), [locale])
}

/** The key that goes with letters, as it is printed on this computer's keyboard. */
export const COMMAND_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl "

/** What a session is called: one of another program's, without a title, by the program. */
export function titleOf({ title, client }: Pick<Session, "title" | "client">, say: Say): string {
  return title || (client === "" ? say("untitled") : say("fromClient", { client }))
}

/** Who asked: another program by its name, a run of ours as the chat. */
export function askerOf({ asker }: Pick<InboxItem, "asker">, say: Say): string {
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

/** How long until a moment, in its largest unit; empty where there is none or it has passed. A week that has just begun
 * is seven days. */
export function formatLeft(iso: string, locale: Locale, now = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1000
  if (!(seconds > 0)) return ""
  const [unit, size] = UNITS.find(([, one]) => Math.round(seconds / one) >= 1) ?? (["minute", 60] as const)
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long" }).format(
    Math.max(1, Math.round(seconds / size)),
  )
}

/** Whole seconds, and tenths of less than one: nothing took none. */
export function formatSeconds(ms: number, locale: Locale): string {
  return ms < 950
    ? Math.max(0.1, ms / 1000).toLocaleString(locale, { maximumFractionDigits: 1 })
    : Math.round(ms / 1000).toLocaleString(locale)
}

/** 1.9 KB, 25 MB: thousands, one digit after the point. */
export function formatBytes(bytes: number, locale: Locale): string {
  const units = ["B", "KB", "MB", "GB"]
  let size = bytes
  let index = 0
  while (size >= 1000 && index < units.length - 1) {
    size /= 1000
    index++
  }
  const digits = index === 0 || size >= 100 ? 0 : 1
  return `${size.toLocaleString(locale, { maximumFractionDigits: digits })} ${units[index]}`
}

/** How long ago: now, minutes and hours in words, else the day. */
export function formatAgo(iso: string, locale: Locale, now = Date.now()): string {
  const seconds = (now - Date.parse(iso)) / 1000
  if (Number.isNaN(seconds)) return ""
  const format = new Intl.RelativeTimeFormat(locale, { numeric: "auto" })
  if (seconds < 60) return speaker(locale)("justNow")
  if (seconds < 3600) return format.format(-Math.floor(seconds / 60), "minute")
  if (seconds < 6 * 3600) return format.format(-Math.floor(seconds / 3600), "hour")
  const date = new Date(iso)
  const time = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hour12: false }).format(date)
  if (date.toDateString() === new Date(now).toDateString()) return time
  if (date.toDateString() === new Date(now - 86_400_000).toDateString()) return `${format.format(-1, "day")} ${time}`
  return new Intl.DateTimeFormat(locale, { month: "short", day: "numeric" }).format(date)
}
