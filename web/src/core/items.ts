/** What a talk is made of: messages, notes between them, and calls. */

import type { CallPause } from "../wire/types.ts"

export interface MessageItem {
  kind: "message"
  id: string
  role: "user" | "assistant" | "summary"
  seq: number
  at: string
  text: string
  thinking: string
  /** How long it thought, if that is known. */
  thoughtMs: number | null
  images: { src: string; alt: string }[]
  /** What the person attached, in the content store. */
  files: { name: string; contentId: string }[]
  /** Keys of `Talk.calls`. */
  callKeys: string[]
  model: string
  /** The run was stopped while this was being written. */
  isCut: boolean
  /** It ended before it was whole, by the model's limit or its server. */
  isTruncated: boolean
}

/**
 * What is told between messages: an action beside the run, a late answer, that the model was asked again, the end of a
 * run that did not go well.
 */
export interface NoteItem {
  kind: "note"
  id: string
  note: "action" | "answered_late" | "mend" | "model" | "failed" | "cancelled"
  seq: number
  at: string
  text: string
  code: string
  /** Of a failure: it may go better when it is tried again. */
  retryHelps: boolean
}

export type Item = MessageItem | NoteItem

export interface CallState {
  id: string
  tool: string
  /** As the model wrote them: also what is no JSON. */
  arguments: string
  isRunning: boolean
  outcome: string
  text: string
  data: unknown
  /** How many bytes `data` has, if it is too much to be told. */
  dataLeftOut: number
  tookMs: number | null
  viewId: string
  pauseId: string
  pause: CallPause | null
}
