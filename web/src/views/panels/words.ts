/** How panels speak: their own texts, sizes and durations, in the language of the session. */

import { useMemo } from "react"

import { speakerOf } from "../../texts.ts"
import { PANEL_TEXTS, type PanelTextKey } from "../../texts/panels.ts"
import type { Locale } from "../../wire/types.ts"
import { useLocale } from "../language.tsx"

export type PanelSay = (key: PanelTextKey, values?: Record<string, string | number>) => string

export function usePanelSay(): PanelSay {
  const locale = useLocale()
  return useMemo(() => speakerOf(PANEL_TEXTS, locale), [locale])
}

const UNITS = ["B", "KB", "MB", "GB"]

export function formatSize(bytes: number, locale: Locale): string {
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(value)} ${UNITS[unit]}`
}

export function formatDuration(seconds: number, say: PanelSay): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole < 60) return say("seconds", { seconds: whole })
  return say("minutes", { minutes: Math.floor(whole / 60), seconds: whole % 60 })
}

/** The time of day, with the day unless that is today. */
export function formatMoment(iso: string, locale: Locale): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return ""
  const isToday = date.toDateString() === new Date().toDateString()
  const day: Intl.DateTimeFormatOptions = isToday ? {} : { month: "short", day: "numeric" }
  return new Intl.DateTimeFormat(locale, { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(date)
}
