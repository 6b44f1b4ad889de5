/** What can be done with the messages of a talk. */

import type { MessageItem } from "../core/items.ts"

export interface TalkActions {
  fork(item: MessageItem): void
  edit(item: MessageItem): void
  /** Ask again what led to an answer, or to the end of a run: in a branch, or here where nothing was answered. */
  again(itemId: string): void
}
