/** The order and the number of what waits for the person. */

import type { InboxItem, PausesValue } from "../wire/types.ts"

/** Approvals first, then by what runs out first; what stays open for ever comes last. */
export function sortInbox(items: readonly InboxItem[]): InboxItem[] {
  const rank = (item: InboxItem) => (item.type === "approval" ? 0 : 1)
  const end = (item: InboxItem) => (item.expiresAt === "" ? Infinity : Date.parse(item.expiresAt))
  return [...items].sort((a, b) => rank(a) - rank(b) || end(a) - end(b) || a.openedAt.localeCompare(b.openedAt))
}

/** What is to be answered. That it is the person's turn where there is no model is no question. */
export const questionsOf = (items: readonly InboxItem[]) => items.filter(({ type }) => type !== "model")

/** The inbox after what a stream has told of it; null if some of it is not known here, and has to be read. */
export function mergeInbox(items: readonly InboxItem[], { ids, items: opened }: PausesValue): InboxItem[] | null {
  const known = new Map([...items, ...opened].map((item) => [item.id, item]))
  const merged = ids.flatMap((id) => known.get(id) ?? [])
  return merged.length === ids.length ? merged : null
}
