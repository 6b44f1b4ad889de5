/** The order of what waits for the person. */

import type { InboxItem } from "../wire/types.ts"

/** Approvals first, then by what runs out first; what stays open for ever comes last. */
export function sortInbox(items: readonly InboxItem[]): InboxItem[] {
  const rank = (item: InboxItem) => (item.type === "approval" ? 0 : 1)
  const end = (item: InboxItem) => (item.expiresAt === "" ? Infinity : Date.parse(item.expiresAt))
  return [...items].sort((a, b) => rank(a) - rank(b) || end(a) - end(b) || a.openedAt.localeCompare(b.openedAt))
}
