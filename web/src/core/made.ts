/**
 * The calls that the person made themselves, newest first.
 *
 * Those that they made as the model of a run are stored with its talk. Their own calls beside a run are nobody's answer
 * and in no talk: this tab keeps them, until it is closed. Only what they said is kept here; what their pages show is
 * stored on the server, under the id of the view.
 */

import type { ToolOutcome } from "../wire/types.ts"
import type { CallState } from "./items.ts"
import type { Talk } from "./talk.ts"
import { hasFailed } from "./rows.ts"

export const MAX_KEPT = 30
/** Of all that is kept of a session: a tab has a few million characters. */
export const MAX_KEPT_CHARS = 400_000
/** As the talk has it: larger data are told by their size. */
const MAX_DATA_CHARS = 32_768
/** What the person is called in the place of a model. */
const MANUAL = "manual"

export interface MadeCall {
  id: string
  tool: string
  values: Record<string, unknown>
  at: string
  /** It has no outcome yet: it is being made, or it asks the person. */
  isRunning: boolean
  isError: boolean
  text: string
  data: unknown
  /** How many bytes `data` has, if it is too much to be kept. */
  dataLeftOut: number
  tookMs: number | null
  viewId: string
  pauseId: string
}

/** The calls of a talk that the person made in the model's place. */
export function turnsOf(talk: Talk): MadeCall[] {
  const made = talk.items.flatMap((item) =>
    item.kind === "message" && item.model === MANUAL
      ? item.callKeys.flatMap((key) => (talk.calls[key] ? [madeOf(talk.calls[key], item.at)] : []))
      : [],
  )
  return made.reverse()
}

function madeOf(call: CallState, at: string): MadeCall {
  const { id, tool, isRunning, text, data, dataLeftOut, tookMs, viewId, pauseId } = call
  const values = objectOf(call.arguments)
  return { id, tool, values, at, isRunning, isError: hasFailed(call), text, data, dataLeftOut, tookMs, viewId, pauseId }
}

export function mergeCalls(turns: readonly MadeCall[], own: readonly MadeCall[]): MadeCall[] {
  return [...turns, ...own].sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
}

/** Whether the call is in the hands of the machine: nothing is to be read of it, and nothing to be answered. */
export const isPending = (call: MadeCall) => call.isRunning && call.pauseId === ""

export function ownCall(
  id: string,
  at: string,
  tool: string,
  values: Record<string, unknown>,
  outcome: ToolOutcome,
): MadeCall {
  const { text, isError, tookMs, view, pauseId } = outcome
  const size = JSON.stringify(outcome.data).length
  const isKept = size <= MAX_DATA_CHARS
  return {
    ...{ id, at, tool, values, text, isError, tookMs, pauseId },
    isRunning: false,
    data: isKept ? outcome.data : null,
    dataLeftOut: isKept ? 0 : size,
    viewId: view?.id ?? "",
  }
}

/** Put a call before those that are kept, and let go of the oldest that are too many or too much. */
export function addOwn(calls: readonly MadeCall[], call: MadeCall): MadeCall[] {
  let chars = 0
  return [call, ...calls].slice(0, MAX_KEPT).filter((one, index) => {
    chars += JSON.stringify(one).length
    return index === 0 || chars <= MAX_KEPT_CHARS
  })
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text || "{}")
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {}
  } catch {
    return {}
  }
}
