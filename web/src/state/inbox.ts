/** The order and the number of what waits for the person. */

import type { InboxItem } from "../wire/types.ts"

/** Approvals first, then by what runs out first; what stays open for ever comes last. */
export function sortInbox(items: readonly InboxItem[]): InboxItem[] {
  const rank = (item: InboxItem) => (item.type === "approval" ? 0 : 1)
  const end = (item: InboxItem) => (item.expiresAt === "" ? Infinity : Date.parse(item.expiresAt))
  return [...items].sort((a, b) => rank(a) - rank(b) || end(a) - end(b) || a.openedAt.localeCompare(b.openedAt))
}

/** What is to be answered. That it is the person's turn where there is no model is no question. */
export const questionsOf = (items: readonly InboxItem[]) => items.filter(({ type }) => type !== "model")

/** Whether the server has told of as much as is known here. */
export function isKnown(items: readonly InboxItem[], told: { open: number; turns: number }): boolean {
  const { length } = questionsOf(items)
  return told.open === length && told.turns === items.length - length
}
