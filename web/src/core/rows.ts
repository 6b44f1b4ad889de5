/** The items of a talk as the rows that are drawn. Pure. */

import type { CallState, Item, MessageItem, NoteItem } from "./items.ts"

/** What stands by itself: the person's words, a note, or an answer with the calls that follow without a word between. */
export type Row =
  | { kind: "own"; id: string; item: MessageItem }
  | { kind: "note"; id: string; note: NoteItem; isFirst: boolean }
  | { kind: "answer"; id: string; items: MessageItem[]; isFirst: boolean }

export function rowsOf(items: readonly Item[], calls: Readonly<Record<string, CallState>>): Row[] {
  const rows: Row[] = []
  for (const item of items) {
    const last = rows.at(-1)
    if (item.kind === "note") rows.push({ kind: "note", id: item.id, note: item, isFirst: last?.kind !== "answer" })
    else if (item.role === "user") rows.push({ kind: "own", id: item.id, item })
    else if (last?.kind === "answer" && continues(last.items, item, calls)) last.items.push(item)
    else rows.push({ kind: "answer", id: item.id, items: [item], isFirst: last?.kind !== "answer" })
  }
  return rows
}

/** Calls that follow each other share a card, unless a page stands between them. */
function continues(before: MessageItem[], item: MessageItem, calls: Readonly<Record<string, CallState>>): boolean {
  const isSilent = item.text === "" && item.thinking === "" && item.role === "assistant"
  const last = before.at(-1)!
  const hasPage = last.callKeys.some((key) => calls[key]?.viewId || calls[key]?.pauseId)
  return isSilent && item.callKeys.length > 0 && last.callKeys.length > 0 && !hasPage && !last.isCut
}

/** Calls of one tool in a row, that all went well, told as one from this many on. */
const MIN_ALIKE = 3

export function groupCalls(calls: readonly CallState[]): CallState[][] {
  const groups: CallState[][] = []
  for (const call of calls) {
    const last = groups.at(-1)
    if (last && isPlain(call) && isPlain(last[0]!) && last[0]!.tool === call.tool) last.push(call)
    else groups.push([call])
  }
  return groups.flatMap((group) => (group.length >= MIN_ALIKE ? [group] : group.map((call) => [call])))
}

const isPlain = (call: CallState) =>
  !call.isRunning && call.outcome === "ok" && call.viewId === "" && call.pauseId === ""

/** The first argument of a call, as a person would say it. */
export function firstArgument(text: string): string {
  try {
    const value: unknown = Object.values(JSON.parse(text) as object)[0]
    return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value)
  } catch {
    return text
  }
}

/** Ends of a call that went well, or that are the person's choice. */
const GOOD = new Set(["ok", "answered_late", "unanswered"])

export const hasFailed = (call: CallState) => !call.isRunning && !GOOD.has(call.outcome)
