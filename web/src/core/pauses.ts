/** How something that was asked stands, in a word, a shape and a colour. Pure. */

import type { TextKey } from "../texts.ts"
import type { SettledItem, ViewPause } from "../wire/types.ts"

export interface PauseEnd {
  text: TextKey
  /** The answer, or who gave it: after the word. */
  detail: string
  look: "wait" | "ok" | ""
  /** None: a dot. */
  icon: "tick" | "cross" | "clock" | "again" | null
  at: string
}

type Pause = Pick<ViewPause, "status" | "settledBy" | "settledAt" | "settler" | "answer"> & {
  kind?: SettledItem["kind"]
}

/** `isElsewhere`: it ended while this tab showed it, and not by this tab. */
export function endOf(pause: Pause, isElsewhere = false): PauseEnd | null {
  const { kind, status, settledBy, settledAt: at } = pause
  const ended = { detail: "", look: "", at } as const
  switch (status) {
    case "open":
      return { ...ended, text: "yourTurn", look: "wait", icon: null }
    case "answered":
      if (isElsewhere || (settledBy !== "person" && settledBy !== "")) {
        return { ...ended, text: "answeredElsewhere", detail: pause.settler, icon: "tick" }
      }
      if (kind === "approval") return { ...ended, text: "allowed", look: "ok", icon: "tick" }
      return { ...ended, text: kind === "wait" ? "wentOn" : "answered", detail: pause.answer, look: "ok", icon: "tick" }
    case "cancelled":
      return { ...ended, text: kind === "approval" ? "refused" : "skipped", icon: "cross" }
    case "expired":
      return { ...ended, text: "expired", icon: "clock" }
    case "withdrawn":
      return { ...ended, text: "withdrawn", icon: "cross" }
    case "superseded":
      return { ...ended, text: "superseded", icon: "again" }
    default:
      return null // of a newer server
  }
}

/** What ended today apart from what ended before, both as they came. */
export function splitByDay<Item extends { settledAt: string }>(
  items: readonly Item[],
  now: Date,
): { today: Item[]; before: Item[] } {
  const day = now.toDateString()
  const isToday = (item: Item) => new Date(item.settledAt).toDateString() === day
  return { today: items.filter(isToday), before: items.filter((item) => !isToday(item)) }
}

/** A page behind those that are there; what came in front meanwhile is not there twice. */
export function addPage<Item extends { id: string }>(items: readonly Item[], page: readonly Item[]): Item[] {
  const known = new Set(items.map(({ id }) => id))
  return [...items, ...page.filter(({ id }) => !known.has(id))]
}
