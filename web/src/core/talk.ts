/** What a talk shows, and how it begins: with a page of stored messages, after which events are folded into it. */

import type { MessagesPage, ServiceStates, UntoldAction, WorkingRun } from "../wire/types.ts"
import type { CallState, Item } from "./items.ts"
import { callsOf, itemsOf, keysOf } from "./page.ts"
import type { Draft } from "./writing.ts"

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
  /** Runs that are running, in any session and any program on this data folder. */
  runs: readonly WorkingRun[]
  /** Why runs wait for the database; empty while it answers. */
  outage: string
  /** Tokens of the last request: how full the model's context is. */
  inputTokens: number | null
  hasOlder: boolean
}

/** The code of a run that ended without an answer that can be used. */
export const INCOMPLETE = "incomplete"

export const NO_RUN: RunView = { state: "idle", retry: null }

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
  runs: [],
  outage: "",
  inputTokens: null,
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

/** Whether the person's words are there, said after a number or waiting for their turn. */
export function hasMessage(talk: Talk, text: string, after: number): boolean {
  const isIt = (item: Item) => item.kind === "message" && item.role === "user" && item.seq > after && item.text === text
  return talk.items.some(isIt) || talk.queued.some((one) => one.text === text)
}

export function oldestSeq(talk: Talk): number | undefined {
  return talk.items.find(({ kind }) => kind === "message")?.seq
}

const isLive = (state: RunView["state"]) => state === "running" || state === "waiting"

/** The run is over: outcomes that are missing will not come any more. What it asked stays open unless it is withdrawn. */
export function endCalls(calls: Talk["calls"], withdrawn: readonly string[] = []): Talk["calls"] {
  return Object.fromEntries(Object.entries(calls).map(([key, call]) => [key, endCall(call, withdrawn)]))
}

function endCall(call: CallState, withdrawn: readonly string[]): CallState {
  const { isRunning, outcome, pause } = call
  if (pause?.status !== "open") return isRunning ? { ...call, isRunning: false, outcome: "cancelled" } : call
  const isStep = pause.kind === "approval" || pause.kind === "model"
  if (withdrawn.includes(call.pauseId) || (isRunning && isStep)) {
    const ended = { ...pause, status: "withdrawn", settledBy: "run" } as const
    return { ...call, isRunning: false, outcome: isRunning ? "cancelled" : outcome, pause: ended }
  }
  return isRunning ? { ...call, isRunning: false, outcome: "unanswered" } : call
}
