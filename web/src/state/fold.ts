/**
 * What a talk shows, as one pure fold over the session's event log: `(talk, event) => talk`.
 *
 * It starts from a page of stored messages and goes on with events after that page. Stored events count once, by their
 * sequence number; live deltas count once, by their offset. Nothing here knows the network or the screen.
 */

import type {
  CallPause,
  CustomValues,
  DeltaMetadata,
  Interrupt,
  MessagesPage,
  RunEvent,
  ServiceStates,
  UntoldAction,
} from "../wire/types.ts"
import { callsOf, itemsOf, keyOf, keysOf, NEW_CALL } from "./page.ts"

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
  /** Keys of `Talk.calls`. */
  callKeys: string[]
  model: string
  /** The run was stopped while this was being written. */
  isCut: boolean
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

/** What has come of a text that is being written. */
export interface Written {
  text: string
  /** Code points of `text`: offsets on the wire count those. */
  chars: number
  /** A piece is missing: what comes after it is held back until the answer is stored. */
  hasGap: boolean
}

/** The answer that is being written: it is replaced by the stored one. */
export interface Draft extends Written {
  runId: string
  messageNo: number
  /** What the model thought before. */
  thinking: Written
}

const NOTHING_WRITTEN: Written = { text: "", chars: 0, hasGap: false }

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
  /** By service: an unknown field of a known service does not compile. */
  services: Readonly<Partial<ServiceStates>>
  /** What was done beside the run, and its model was not told yet. */
  untold: readonly UntoldAction[]
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
  untold: [],
  inputTokens: null,
  changes: 0,
  hasOlder: false,
}

/** Begin a talk with its newest page, as if every event before the page's end had been folded. */
export function openTalk(page: MessagesPage): Talk {
  const { run, retry } = page
  const state = run === null || run.state === "finished" ? "idle" : run.state
  const calls = callsOf(page)
  return {
    ...EMPTY_TALK,
    lastSeq: page.lastSeq,
    items: itemsOf(page),
    calls: isLive(state) ? calls : endCalls(calls),
    keys: keysOf(page),
    run: { state, retry },
    queued: page.queued.map(({ id, text }) => ({ id, text })),
    untold: page.untold,
    inputTokens: page.messages.findLast(({ inputTokens }) => inputTokens !== null)?.inputTokens ?? null,
    hasOlder: page.hasMore,
  }
}

/** Put an older page in front. What is there already stays as it is: it may be newer. */
export function addOlder(talk: Talk, page: MessagesPage): Talk {
  const known = new Set(talk.items.map(({ id }) => id))
  const older = itemsOf(page).filter(({ id }) => !known.has(id))
  return {
    ...talk,
    items: [...older, ...talk.items],
    calls: { ...(isLive(talk.run.state) ? callsOf(page) : endCalls(callsOf(page))), ...talk.calls },
    keys: { ...keysOf(page), ...talk.keys },
    hasOlder: page.hasMore,
  }
}

/** Take over what is too large for events: the images of messages. */
export function addImages(talk: Talk, page: MessagesPage): Talk {
  const stored = new Map(itemsOf(page).map((item) => [item.id, item]))
  const items = talk.items.map((item) => {
    const same = stored.get(item.id)
    const isMissing = item.kind === "message" && item.images.length === 0
    return isMissing && same?.kind === "message" && same.images.length > 0 ? { ...item, images: same.images } : item
  })
  return { ...talk, items }
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
      return event.metadata === undefined
        ? talk
        : {
            ...talk,
            draft: addDelta(talk.draft, event.metadata, (draft, at) => ({ ...draft, ...put(draft, event.delta, at) })),
          }
    case "REASONING_MESSAGE_CONTENT":
      return event.metadata === undefined
        ? talk
        : {
            ...talk,
            draft: addDelta(talk.draft, event.metadata, (draft, at) => ({
              ...draft,
              thinking: put(draft.thinking, event.delta, at),
            })),
          }
    case "STATE_SNAPSHOT":
    case "STATE_DELTA":
      return { ...talk, services: servicesAfter(talk.services, event) }
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
      return finishRun(
        event.outcome.type === "interrupt" ? withExpiries(talk, event.outcome.interrupts) : talk,
        event.outcome.type,
        seq,
        at,
      )
    case "RUN_ERROR":
      // The process died and another one goes on: not the end of the run, but of what was being written.
      if (event.code === "interrupted") return { ...talk, draft: null, run: NO_RUN }
      return {
        ...withNote(talk, {
          note: "failed",
          text: event.message,
          code: event.code,
          retryHelps: event.retryHelps ?? false,
          seq,
          at,
          id: `failed-${seq}`,
        }),
        calls: endCalls(talk.calls),
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
      const { outcome, tookMs, data, dataLeftOut, view, pause } = event.metadata
      return withCall(talk, event.toolCallId, (call) => ({
        ...call,
        isRunning: false,
        outcome,
        text: event.content,
        data: data ?? call.data,
        dataLeftOut: dataLeftOut ?? 0,
        tookMs: tookMs ?? call.tookMs,
        viewId: view?.id ?? call.viewId,
        pause: pause ?? call.pause,
      }))
    }
    case "TEXT_MESSAGE_END":
      return withMessage(talk, event.messageId, (item) => ({ ...item, seq }))
    case "REASONING_MESSAGE_END": {
      const tookMs = event.metadata?.tookMs
      if (tookMs === undefined) return talk
      return withMessage(talk, answerOf(event.messageId), (item) => ({
        ...item,
        thoughtMs: (item.thoughtMs ?? 0) + tookMs,
      }))
    }
    case "TOOL_CALL_END":
      return talk
    case "STATE_SNAPSHOT":
    case "STATE_DELTA":
      return { ...talk, services: servicesAfter(talk.services, event) }
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
    case "madang/stopped":
      return withMessage(talk, event.value.messageId, (item) => ({ ...item, seq, isCut: true }))
    case "madang/pause": {
      const { toolCallId, id, kind, view, pause } = event.value
      return withCall(talk, toolCallId, (call) => ({
        ...call,
        pauseId: id,
        pause: pause ?? {
          id,
          kind,
          status: "open",
          settledBy: "",
          settledAt: "",
          settler: "",
          answer: "",
          expiresAt: "",
        },
        viewId: view?.id ?? call.viewId,
      }))
    }
    case "madang/noted":
      // The page that the talk began with may have it already.
      return { ...talk, untold: [...talk.untold.filter(({ id }) => id !== event.value.id), event.value] }
    case "madang/action":
      return noteOf({ ...talk, untold: [] }, "action", event.value, seq, at)
    case "madang/answered_late":
      return noteOf(answeredLate(talk, event.value), "answered_late", event.value, seq, at)
    case "madang/queued": {
      const { messageId: id, text } = event.value
      return talk.queued.some((one) => one.id === id) ? talk : { ...talk, queued: [...talk.queued, { id, text }] }
    }
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
      return talk
    case "madang/compacted": {
      const { messageId, text } = event.value
      return withMessage(startMessage(talk, messageId, "summary", seq, at), messageId, (item) => ({
        ...item,
        text: text ?? "",
      }))
    }
    default:
      return unreachable(event, talk)
  }
}

function finishRun(talk: Talk, outcome: "success" | "cancelled" | "interrupt", seq: number, at: string): Talk {
  switch (outcome) {
    case "success":
      return { ...talk, calls: endCalls(talk.calls), draft: null, run: NO_RUN }
    case "interrupt":
      return { ...talk, draft: null, run: { state: "waiting", retry: null }, changes: talk.changes + 1 }
    case "cancelled": {
      const note = {
        note: "cancelled",
        text: "",
        code: "",
        retryHelps: false,
        seq,
        at,
        id: `cancelled-${seq}`,
      } as const
      const noted = withNote(talk, note)
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

/** The whole state of a service that changed; the others stay the objects that they are, so that nothing is drawn anew. */
function servicesAfter(
  services: Talk["services"],
  event: RunEvent & { type: "STATE_SNAPSHOT" | "STATE_DELTA" },
): Talk["services"] {
  if (event.type === "STATE_SNAPSHOT") return event.snapshot.services
  const changed = event.delta.map(({ path, value }) => [path.replace(/^\/services\//, ""), value])
  return { ...services, ...(Object.fromEntries(changed) as Talk["services"]) }
}

/** Change the answer to come, unless what came belongs to one before it. */
function addDelta(
  draft: Draft | null,
  { runId, offset, messageNo }: DeltaMetadata,
  change: (draft: Draft, offset: number) => Draft,
): Draft {
  if (draft?.runId === runId && messageNo < draft.messageNo) return draft
  const isSame = draft?.runId === runId && draft.messageNo === messageNo
  return change(isSame ? draft : { runId, messageNo, ...NOTHING_WRITTEN, thinking: NOTHING_WRITTEN }, offset)
}

/**
 * Put a piece of what is being written at its place. One that is there already changes nothing, one after a gap is not
 * shown, and one that differs from what is there belongs to an answer that was begun anew.
 */
function put({ text, chars, hasGap }: Written, delta: string, offset: number): Written {
  if (offset > chars) return { text, chars, hasGap: true }
  if (offset === chars) return { text: text + delta, chars: chars + countChars(delta), hasGap: false }
  const written = [...text]
  const piece = [...delta]
  if (piece.every((character, index) => written[offset + index] === character)) return { text, chars, hasGap }
  return { text: written.slice(0, offset).join("") + delta, chars: offset + piece.length, hasGap: false }
}

/** Code points, without making a list of them: this is done for every piece. */
function countChars(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function startMessage(talk: Talk, id: string, role: MessageItem["role"], seq: number, at: string): Talk {
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
    thoughtMs: null,
    images: [],
    callKeys: [],
    model: "",
    isCut: false,
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

/** The run is over: outcomes that are missing will not come any more, and what it asked is withdrawn. */
function endCalls(calls: Talk["calls"]): Talk["calls"] {
  return Object.fromEntries(Object.entries(calls).map(([key, call]) => [key, endCall(call)]))
}

function endCall(call: CallState): CallState {
  const { isRunning, outcome, pause } = call
  if (!isRunning && pause?.status !== "open") return call
  const withdrawn = pause?.status === "open" ? ({ ...pause, status: "withdrawn", settledBy: "run" } as const) : pause
  return { ...call, isRunning: false, outcome: isRunning ? "cancelled" : outcome, pause: withdrawn }
}

function withExpiries(talk: Talk, interrupts: Interrupt[]): Talk {
  const times = new Map(interrupts.map(({ id, expiresAt }) => [id, expiresAt ?? ""]))
  const calls = Object.entries(talk.calls).map(([key, call]) => {
    const expiresAt = times.get(call.pauseId)
    return [key, expiresAt && call.pause !== null ? { ...call, pause: { ...call.pause, expiresAt } } : call] as const
  })
  return { ...talk, calls: Object.fromEntries(calls) }
}

/** The call that had asked is told as answered, too. */
function answeredLate(talk: Talk, { id, pause }: CustomValues["madang/answered_late"]): Talk {
  const entry = Object.entries(talk.calls).find(([, call]) => call.pauseId === id)
  if (entry === undefined) return talk
  const [key, call] = entry
  return { ...talk, calls: { ...talk.calls, [key]: { ...call, outcome: "answered_late", pause: pause ?? call.pause } } }
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
  return withNote(talk, { note, id: value.messageId, text: value.text, code: "", retryHelps: false, seq, at })
}

/** Thinking has ids of its own, made from that of the answer it belongs to. */
function answerOf(reasoningId: string): string {
  return reasoningId.replace(/-t\d+$/, "")
}

/** A case that is missing does not compile. At run time it is an event of a newer server, which is passed over. */
function unreachable<T>(_event: never, talk: T): T {
  return talk
}
