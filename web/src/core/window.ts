/**
 * Which items of a long talk are mounted: the newest ones, older ones as the person scrolls up, never more than a few
 * hundred. Ends are kept as ids, so that items put in front or added at the end move nothing. Pure.
 */

export const FIRST_ITEMS = 60
export const MORE_ITEMS = 20
export const MAX_ITEMS = 200

export interface Window {
  /** The first item that is mounted; empty: `FIRST_ITEMS` before the end. */
  from: string
  /** The last one; empty: the end, whatever comes. */
  to: string
}

export const AT_END: Window = { from: "", to: "" }

type Ids = readonly { id: string }[]

/** The bounds of a window in the list, `end` excluded. */
export function boundsOf(items: Ids, { from, to }: Window): { start: number; end: number } {
  const last = to === "" ? -1 : items.findIndex(({ id }) => id === to)
  const end = last < 0 ? items.length : last + 1
  const first = from === "" ? -1 : items.findIndex(({ id }) => id === from)
  const start = first < 0 || first >= end ? Math.max(0, end - FIRST_ITEMS) : first
  return { start, end }
}

export function showOlder(items: Ids, window: Window): Window {
  const { start, end } = boundsOf(items, window)
  const first = Math.max(0, start - MORE_ITEMS)
  return windowOf(items, first, Math.min(end, first + MAX_ITEMS))
}

export function showNewer(items: Ids, window: Window): Window {
  const { start, end } = boundsOf(items, window)
  const last = Math.min(items.length, end + MORE_ITEMS)
  return windowOf(items, Math.max(start, last - MAX_ITEMS), last)
}

/** Around one item, to show it. */
export function showItem(items: Ids, id: string): Window | null {
  const index = items.findIndex((item) => item.id === id)
  if (index < 0) return null
  return windowOf(items, Math.max(0, index - MORE_ITEMS), Math.min(items.length, index + FIRST_ITEMS - MORE_ITEMS))
}

/** What follows the end grows with it: the far end is let go. */
export function trim(items: Ids, window: Window): Window {
  const { start, end } = boundsOf(items, window)
  if (window.to !== "" || end - start <= MAX_ITEMS) return window
  return windowOf(items, end - FIRST_ITEMS, end)
}

function windowOf(items: Ids, start: number, end: number): Window {
  return { from: items[start]?.id ?? "", to: end === items.length ? "" : (items[end - 1]?.id ?? "") }
}
