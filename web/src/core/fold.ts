/**
 * One pure fold over a session's event log: `(talk, event) => talk`.
 *
 * Stored events count once, by their sequence number; live deltas count once, by their offset. Nothing here knows the
 * network or the screen.
 */

import type { CustomValues, Interrupt, RunEvent } from "../wire/types.ts"
import { keyOf, NEW_CALL } from "./page.ts"
import type { CallState, MessageItem, NoteItem } from "./items.ts"
import { endCalls, NO_RUN, type Talk } from "./talk.ts"
import { addDelta, put } from "./writing.ts"

type Outcome = (RunEvent & { type: "RUN_FINISHED" })["outcome"]

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
      return foldNews(talk, event)
    default:
      return talk // of a newer build: what matters will come as a stored event
  }
}

/** What is told beside the log and concerns more than this session. */
function foldNews(talk: Talk, event: Extract<RunEvent, { type: "CUSTOM" }>): Talk {
  if (event.name === "madang/outage") return { ...talk, outage: event.value.reason }
  return event.name === "madang/runs" ? { ...talk, runs: event.value.runs } : talk
}

function foldStored(talk: Talk, event: RunEvent, seq: number): Talk {
  const at = event.at ?? ""
  switch (event.type) {
    case "RUN_STARTED":
      return { ...talk, run: { state: "running", retry: null } }
    case "RUN_FINISHED":
      return finishRun(
        event.outcome.type === "interrupt" ? withExpiries(talk, event.outcome.interrupts) : talk,
        event.outcome,
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
      return withMessage(talk, event.messageId, (item) => ({ ...item, seq, files: event.metadata?.files ?? [] }))
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
      const { messageId, model, inputTokens, isCut } = event.value
      const answered = withMessage(talk, messageId, (item) => ({ ...item, seq, model, isTruncated: isCut ?? false }))
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
    case "madang/mend":
      return noteOf(talk, "mend", event.value, seq, at)
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
    case "madang/model": {
      // What the one before has begun is thrown away.
      const switched = { ...talk, draft: null, run: { ...talk.run, retry: null } }
      return noteOf(switched, "model", { messageId: `model-${seq}`, text: event.value.text }, seq, at)
    }
    case "madang/inbox":
    case "madang/pauses":
    case "madang/sessions":
    case "madang/runs":
    case "madang/outage":
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

function finishRun(talk: Talk, outcome: Outcome, seq: number, at: string): Talk {
  switch (outcome.type) {
    case "success":
      return { ...talk, calls: endCalls(talk.calls), draft: null, run: NO_RUN }
    case "interrupt":
      return { ...talk, draft: null, run: { state: "waiting", retry: null } }
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
        calls: endCalls(talk.calls, outcome.withdrawn),
        draft: null,
        run: { state: "cancelled", retry: null },
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
    files: [],
    callKeys: [],
    model: "",
    isCut: false,
    isTruncated: false,
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
  note: "action" | "answered_late" | "mend" | "model",
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
