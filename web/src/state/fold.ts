/**
 * What a talk shows, as one pure fold over the session's event log: `(talk, event) => talk`.
 *
 * It starts from a page of stored messages and goes on with events after that page. Stored events count once, by their
 * sequence number; live deltas count once, by their offset. Nothing here knows the network or the screen.
 */

import type { CustomValues, DeltaMetadata, MessagesPage, RunEvent, RunSummary } from "../wire/types.ts"
import { callsOf, itemOf, keyOf, keysOf, NEW_CALL } from "./page.ts"

export interface MessageItem {
  kind: "message"
  id: string
  role: "user" | "assistant" | "summary"
  seq: number
  at: string
  text: string
  thinking: string
  images: { src: string; alt: string }[]
  /** Keys of `Talk.calls`. */
  callKeys: string[]
  model: string
}

/** What is told between messages: an action beside the run, a late answer, the end of a run that did not go well. */
export interface NoteItem {
  kind: "note"
  id: string
  note: "action" | "answered_late" | "failed" | "cancelled"
  seq: number
  at: string
  text: string
  code: string
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
  tookMs: number | null
  viewId: string
  pauseId: string
}

/** The answer that is being written: it is replaced by the stored one. */
export interface Draft {
  runId: string
  messageNo: number
  text: string
  /** Code points of `text`: offsets on the wire count those. */
  chars: number
  /** A piece is missing: what comes after it is held back until the answer is stored. */
  hasGap: boolean
}

export interface RunView {
  state: "idle" | "running" | "waiting" | "failed" | "cancelled"
  /** The model's server is asked again: the attempt and what went wrong, until something else happens. */
  retry: { attempt: number; code: string } | null
}

export interface Talk {
  lastSeq: number
  items: readonly Item[]
  /** By `messageId/callId`: models use the same id of a call again in a later turn. */
  calls: Readonly<Record<string, CallState>>
  /** The key of the newest call with an id: events name it by that alone. */
  keys: Readonly<Record<string, string>>
  draft: Draft | null
  run: RunView
  queued: readonly { id: string; text: string }[]
  services: Readonly<Record<string, unknown>>
  /** Tokens of the last request: how full the model's context is. */
  inputTokens: number | null
  /** Counts what changed the inbox or the list of sessions, so that they are read again. */
  changes: number
  hasOlder: boolean
}

const NO_RUN: RunView = { state: "idle", retry: null }

export const EMPTY_TALK: Talk = {
  lastSeq: 0,
  items: [],
  calls: {},
  keys: {},
  draft: null,
  run: NO_RUN,
  queued: [],
  services: {},
  inputTokens: null,
  changes: 0,
  hasOlder: false,
}

/** Begin a talk with its newest page. `run` is the session's, for the log before the page is not read. */
export function openTalk(page: MessagesPage, run: RunSummary | null): Talk {
  const state = run === null || run.state === "finished" ? "idle" : run.state
  const calls = callsOf(page)
  return {
    ...EMPTY_TALK,
    lastSeq: page.lastSeq,
    items: page.messages.flatMap(itemOf),
    calls: isLive(state) ? calls : endCalls(calls),
    keys: keysOf(page),
    run: { state, retry: null },
    queued: page.queued.map(({ id, text }) => ({ id, text })),
    hasOlder: page.hasMore,
  }
}

/** Put an older page in front. What is there already stays as it is: it may be newer. */
export function addOlder(talk: Talk, page: MessagesPage): Talk {
  const known = new Set(talk.items.map(({ id }) => id))
  const older = page.messages.flatMap(itemOf).filter(({ id }) => !known.has(id))
  return {
    ...talk,
    items: [...older, ...talk.items],
    calls: { ...endCalls(callsOf(page)), ...talk.calls },
    keys: { ...keysOf(page), ...talk.keys },
    hasOlder: page.hasMore,
  }
}

/** Take over what events do not tell of calls: their data, times and pages. What an event has told stays. */
export function addDetails(talk: Talk, page: MessagesPage): Talk {
  const calls = { ...talk.calls }
  for (const [key, record] of Object.entries(page.calls)) {
    const call = calls[key]
    if (call === undefined) continue
    const { data, tookMs, view, pauseId } = record
    calls[key] = {
      ...call,
      data: call.data ?? data,
      tookMs: call.tookMs ?? tookMs,
      viewId: call.viewId || (view?.id ?? ""),
      pauseId: call.pauseId || pauseId,
    }
  }
  return { ...talk, calls }
}

export function oldestSeq(talk: Talk): number | undefined {
  return talk.items.find(({ kind }) => kind === "message")?.seq
}

export function fold(talk: Talk, event: RunEvent): Talk {
  if (event.seq === undefined) return foldLive(talk, event)
  if (event.seq <= talk.lastSeq) return talk
  return { ...foldStored(talk, event, event.seq), lastSeq: event.seq }
}

function foldLive(talk: Talk, event: RunEvent): Talk {
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
      return event.metadata === undefined ? talk : { ...talk, draft: addDelta(talk.draft, event.delta, event.metadata) }
    case "STATE_SNAPSHOT":
      return { ...talk, services: event.snapshot.services }
    case "CUSTOM":
      return event.name === "madang/inbox" || event.name === "madang/sessions"
        ? { ...talk, changes: talk.changes + 1 }
        : talk
    default:
      return talk // of a newer build: what matters will come as a stored event
  }
}

function foldStored(talk: Talk, event: RunEvent, seq: number): Talk {
  const at = event.at ?? ""
  switch (event.type) {
    case "RUN_STARTED":
      return { ...talk, run: { state: "running", retry: null } }
    case "RUN_FINISHED":
      return finishRun(talk, event.outcome.type, seq, at)
    case "RUN_ERROR":
      // The process died and another one goes on: not the end of the run, but of what was being written.
      if (event.code === "interrupted") return { ...talk, draft: null, run: NO_RUN }
      return {
        ...withNote(talk, { note: "failed", text: event.message, code: event.code, seq, at, id: `failed-${seq}` }),
        draft: null,
        run: { state: "failed", retry: null },
      }
    case "TEXT_MESSAGE_START":
      return startMessage(talk, event.messageId, event.role, seq, at)
    case "TEXT_MESSAGE_CONTENT":
      return withMessage(talk, event.messageId ?? "", (item) => ({ ...item, seq, text: item.text + event.delta }))
    case "REASONING_MESSAGE_START":
      return withMessage(
        startMessage(talk, answerOf(event.messageId), "assistant", seq, at),
        answerOf(event.messageId),
        (item) => ({
          ...item,
          thinking: item.thinking === "" ? "" : `${item.thinking}\n\n`,
        }),
      )
    case "REASONING_MESSAGE_CONTENT":
      return withMessage(talk, answerOf(event.messageId), (item) => ({
        ...item,
        seq,
        thinking: item.thinking + event.delta,
      }))
    case "TOOL_CALL_START": {
      const begun = startMessage(talk, event.parentMessageId, "assistant", seq, at)
      const call: CallState = { ...NEW_CALL, id: event.toolCallId, tool: event.toolCallName }
      const key = keyOf(event.parentMessageId, call.id)
      const calls = { ...begun.calls, [key]: call }
      const keys = { ...begun.keys, [call.id]: key }
      return withMessage({ ...begun, calls, keys }, event.parentMessageId, (item) => ({
        ...item,
        seq,
        callKeys: [...item.callKeys, key],
      }))
    }
    case "TOOL_CALL_ARGS":
      return withCall(talk, event.toolCallId, (call) => ({ ...call, arguments: call.arguments + event.delta }))
    case "TOOL_CALL_RESULT": {
      const { outcome, tookMs, data, view } = event.metadata
      return withCall(talk, event.toolCallId, (call) => ({
        ...call,
        isRunning: false,
        outcome,
        text: event.content,
        data: data ?? call.data,
        tookMs: tookMs ?? call.tookMs,
        viewId: view?.id ?? call.viewId,
      }))
    }
    case "TEXT_MESSAGE_END":
    case "REASONING_MESSAGE_END":
    case "TOOL_CALL_END":
      return talk
    case "STATE_SNAPSHOT":
      return { ...talk, services: event.snapshot.services }
    case "CUSTOM":
      return foldCustom(talk, event, seq, at)
    default:
      return unreachable(event, talk)
  }
}

function foldCustom(talk: Talk, event: RunEvent & { type: "CUSTOM" }, seq: number, at: string): Talk {
  switch (event.name) {
    case "madang/answered": {
      const { messageId, model, inputTokens } = event.value
      const answered = withMessage(talk, messageId, (item) => ({ ...item, seq, model }))
      return {
        ...answered,
        draft: null,
        inputTokens: inputTokens ?? talk.inputTokens,
        run: { ...talk.run, retry: null },
      }
    }
    case "madang/pause":
      return withCall(talk, event.value.toolCallId, (call) => ({ ...call, pauseId: event.value.id }))
    case "madang/action":
      return noteOf(talk, "action", event.value, seq, at)
    case "madang/answered_late":
      return noteOf(talk, "answered_late", event.value, seq, at)
    case "madang/queued":
      return { ...talk, queued: [...talk.queued, { id: event.value.messageId, text: event.value.text }] }
    case "madang/withdrawn":
      return { ...talk, queued: talk.queued.filter(({ id }) => id !== event.value.messageId) }
    case "madang/retry":
      // What was written so far is thrown away, and written anew.
      return {
        ...talk,
        draft: null,
        run: { ...talk.run, retry: { attempt: event.value.attempt, code: event.value.code } },
      }
    case "madang/inbox":
    case "madang/sessions":
    case "madang/resync":
    case "madang/results":
    case "madang/compacted":
      return talk
    default:
      return unreachable(event, talk)
  }
}

function finishRun(talk: Talk, outcome: "success" | "cancelled" | "interrupt", seq: number, at: string): Talk {
  switch (outcome) {
    case "success":
      return { ...talk, draft: null, run: NO_RUN }
    case "interrupt":
      return { ...talk, draft: null, run: { state: "waiting", retry: null }, changes: talk.changes + 1 }
    case "cancelled": {
      const noted = withNote(talk, { note: "cancelled", text: "", code: "", seq, at, id: `cancelled-${seq}` })
      return {
        ...noted,
        calls: endCalls(talk.calls),
        draft: null,
        run: { state: "cancelled", retry: null },
        changes: talk.changes + 1,
      }
    }
    default:
      return unreachable(outcome, talk)
  }
}

/**
 * Put a piece of the answer to come at its place. One that is there already changes nothing, one after a gap is not
 * shown, and one that differs from what is there belongs to an answer that was begun anew.
 */
function addDelta(draft: Draft | null, delta: string, { runId, offset, messageNo }: DeltaMetadata): Draft | null {
  if (draft?.runId === runId && messageNo < draft.messageNo) return draft
  const isSame = draft?.runId === runId && draft.messageNo === messageNo
  const current = isSame ? draft : { runId, messageNo, text: "", chars: 0, hasGap: false }
  if (offset > current.chars) return { ...current, hasGap: true }
  if (offset === current.chars) {
    return { ...current, text: current.text + delta, chars: current.chars + countChars(delta), hasGap: false }
  }
  const written = [...current.text]
  const piece = [...delta]
  if (piece.every((character, index) => written[offset + index] === character)) return current
  return { ...current, text: written.slice(0, offset).join("") + delta, chars: offset + piece.length, hasGap: false }
}

/** Code points, without making a list of them: this is done for every piece. */
function countChars(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function startMessage(talk: Talk, id: string, role: "user" | "assistant", seq: number, at: string): Talk {
  const draft = role === "assistant" ? null : talk.draft
  if (talk.items.some((item) => item.id === id)) return draft === talk.draft ? talk : { ...talk, draft }
  const item: MessageItem = {
    kind: "message",
    id,
    role,
    seq,
    at,
    text: "",
    thinking: "",
    images: [],
    callKeys: [],
    model: "",
  }
  const queued = talk.queued.some((one) => one.id === id) ? talk.queued.filter((one) => one.id !== id) : talk.queued
  return { ...talk, items: [...talk.items, item], queued, draft }
}

function withMessage(talk: Talk, id: string, change: (item: MessageItem) => MessageItem): Talk {
  // From the end: what changes is nearly always the last one.
  const index = talk.items.findLastIndex((item) => item.id === id)
  const item = talk.items[index]
  if (item?.kind !== "message") return talk
  const items = [...talk.items]
  items[index] = change(item)
  return { ...talk, items }
}

function withCall(talk: Talk, id: string, change: (call: CallState) => CallState): Talk {
  const key = talk.keys[id] ?? ""
  const call = talk.calls[key]
  return call === undefined ? talk : { ...talk, calls: { ...talk.calls, [key]: change(call) } }
}

const isLive = (state: RunView["state"]) => state === "running" || state === "waiting"

/** Calls whose outcome will not come any more: their run is over. */
function endCalls(calls: Talk["calls"]): Talk["calls"] {
  const ended = Object.entries(calls).map(([id, call]) => [id, call.isRunning ? { ...call, isRunning: false } : call])
  return Object.fromEntries(ended) as Talk["calls"]
}

function withNote(talk: Talk, note: Omit<NoteItem, "kind">): Talk {
  if (talk.items.some(({ id }) => id === note.id)) return talk
  return { ...talk, items: [...talk.items, { kind: "note", ...note }] }
}

function noteOf(
  talk: Talk,
  note: "action" | "answered_late",
  value: CustomValues["madang/action"],
  seq: number,
  at: string,
): Talk {
  return withNote(talk, { note, id: value.messageId, text: value.text, code: "", seq, at })
}

/** Thinking has ids of its own, made from that of the answer it belongs to. */
function answerOf(reasoningId: string): string {
  return reasoningId.replace(/-t\d+$/, "")
}

/** A case that is missing does not compile. At run time it is an event of a newer server, which is passed over. */
function unreachable<T>(_event: never, talk: T): T {
  return talk
}
