/** Answers from this tab to what waits for the person. */

import { settle } from "./api.ts"
import type { InboxItem, Settlement } from "../wire/types.ts"
import { dropFromInbox, refreshSoon, report } from "./app.ts"
import { Store } from "./store.ts"

/** The pauses that were settled in this tab: of any other one it says that it was answered elsewhere. */
export const settledHere = new Store<ReadonlySet<string>>(new Set())

/** Remember that a pause is settled from this tab, unless nothing comes of it: somebody else may be first. */
export async function settleHere<T>(pauseId: string, settling: Promise<T>, isDone = (_: T) => true): Promise<T> {
  const wasSettled = settledHere.get().has(pauseId)
  settledHere.set(new Set([...settledHere.get(), pauseId]))
  let isSettled = wasSettled
  try {
    const result = await settling
    isSettled ||= isDone(result)
    return result
  } finally {
    if (!isSettled) settledHere.set(new Set([...settledHere.get()].filter((id) => id !== pauseId)))
  }
}

/** Settle a pause. A refusal, because it was settled elsewhere meanwhile, is told, and the inbox is read again. */
export async function settleItem(item: InboxItem, settlement: Settlement): Promise<boolean> {
  try {
    await settleHere(item.id, settle(item.id, settlement))
    dropFromInbox(item.id)
    return true
  } catch (error) {
    report(error)
    refreshSoon()
    return false
  }
}
