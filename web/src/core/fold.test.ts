import assert from "node:assert/strict"
import { test } from "node:test"

import type { MessagesPage, RunEvent } from "../wire/types.ts"
import { fold } from "./fold.ts"
import type { MessageItem } from "./items.ts"
import { addImages, addOlder, EMPTY_TALK, oldestSeq, openTalk, type Talk } from "./talk.ts"

const ANSWERED = {
  id: "p1",
  kind: "prompt",
  status: "answered",
  settledBy: "person",
  settledAt: "2026-11-16T06:00:00Z",
  settler: "",
  answer: "tea",
  expiresAt: "",
} as const

/** The log of a run: a message, an answer with thinking and a call, its result, a pause, an answer. */
const LOG: RunEvent[] = numbered([
  { type: "TEXT_MESSAGE_START", messageId: "u1", role: "user" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "u1", delta: "보고서를 " },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "u1", delta: "만들어 줘" },
  { type: "TEXT_MESSAGE_END", messageId: "u1" },
  { type: "RUN_STARTED", threadId: "s", runId: "r:1" },
  { type: "REASONING_MESSAGE_START", messageId: "a1-t0", role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "a1-t0", delta: "first look" },
  { type: "REASONING_MESSAGE_END", messageId: "a1-t0" },
  { type: "TEXT_MESSAGE_START", messageId: "a1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a1", delta: "Which format?" },
  { type: "TEXT_MESSAGE_END", messageId: "a1" },
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "prompt_user", parentMessageId: "a1" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"prompt":' },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '"Which?"}' },
  { type: "TOOL_CALL_END", toolCallId: "c1" },
  {
    type: "CUSTOM",
    name: "madang/answered",
    value: { messageId: "a1", model: "m", inputTokens: 900, outputTokens: 9 },
  },
  { type: "CUSTOM", name: "madang/pause", value: { toolCallId: "c1", id: "p1", kind: "prompt" } },
  {
    type: "RUN_FINISHED",
    threadId: "s",
    runId: "r:1",
    outcome: { type: "interrupt", interrupts: [{ id: "p1", reason: "prompt", message: "Which?", toolCallId: "c1" }] },
  },
  { type: "RUN_STARTED", threadId: "s", runId: "r:2", parentRunId: "r:1" },
  {
    type: "TOOL_CALL_RESULT",
    messageId: "result-c1",
    toolCallId: "c1",
    role: "tool",
    content: "PDF",
    metadata: { outcome: "ok", tookMs: 12, view: { id: "v1", uri: "ui://x" }, pause: ANSWERED },
  },
  { type: "CUSTOM", name: "madang/results", value: { messageId: "t1" } },
  { type: "TEXT_MESSAGE_START", messageId: "a2", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a2", delta: "Done." },
  { type: "TEXT_MESSAGE_END", messageId: "a2" },
  {
    type: "CUSTOM",
    name: "madang/answered",
    value: { messageId: "a2", model: "m", inputTokens: 950, outputTokens: 2 },
  },
  { type: "RUN_FINISHED", threadId: "s", runId: "r:2", outcome: { type: "success" } },
])

function numbered(events: RunEvent[], after = 0): RunEvent[] {
  return events.map((event, index) => ({ ...event, seq: after + index + 1, at: "2026-11-16T06:00:00Z" }))
}

const play = (events: RunEvent[], talk: Talk = EMPTY_TALK) => events.reduce(fold, talk)
const messages = (talk: Talk) => talk.items.filter((item): item is MessageItem => item.kind === "message")
const live = (messageNo: number, offset: number, delta: string): RunEvent => ({
  type: "TEXT_MESSAGE_CONTENT",
  messageId: `r:${messageNo}`,
  delta,
  metadata: { runId: "r", messageNo, offset },
})
const custom = (event: object): RunEvent => ({ type: "CUSTOM", ...event }) as RunEvent

test("a log gives the messages in order, with thinking, calls and results", () => {
  const talk = play(LOG)
  assert.deepEqual(
    messages(talk).map(({ id, role, text, thinking, callKeys, model }) => ({
      id,
      role,
      text,
      thinking,
      callKeys,
      model,
    })),
    [
      { id: "u1", role: "user", text: "보고서를 만들어 줘", thinking: "", callKeys: [], model: "" },
      { id: "a1", role: "assistant", text: "Which format?", thinking: "first look", callKeys: ["a1/c1"], model: "m" },
      { id: "a2", role: "assistant", text: "Done.", thinking: "", callKeys: [], model: "m" },
    ],
  )
  assert.deepEqual(talk.calls, {
    "a1/c1": {
      id: "c1",
      tool: "prompt_user",
      arguments: '{"prompt":"Which?"}',
      isRunning: false,
      outcome: "ok",
      text: "PDF",
      data: null,
      dataLeftOut: 0,
      tookMs: 12,
      viewId: "v1",
      pauseId: "p1",
      pause: ANSWERED,
    },
  })
  assert.equal(talk.run.state, "idle")
  assert.equal(talk.inputTokens, 950)
  assert.equal(talk.lastSeq, LOG.length)
})

test("an event that comes again changes nothing, wherever the stream was cut", () => {
  const whole = play(LOG)
  for (let cut = 0; cut <= LOG.length; cut++) {
    for (let back = 0; back <= cut; back++) {
      assert.deepEqual(play([...LOG.slice(0, cut), ...LOG.slice(cut - back)]), whole)
    }
  }
})

test("an event that comes again gives back the very same talk, so that nothing is drawn again", () => {
  const talk = play(LOG)
  for (const event of LOG) assert.equal(fold(talk, event), talk)
})

test("the run is told as running, waiting and idle", () => {
  const states = LOG.map((_, index) => play(LOG.slice(0, index + 1)).run.state)
  assert.deepEqual([...new Set(states)], ["idle", "running", "waiting"])
  assert.equal(states[17], "waiting")
  assert.equal(states[18], "running")
})

test("messages that were not touched by an event stay the same objects", () => {
  const before = play(LOG.slice(0, 21))
  const after = play(LOG.slice(21), before)
  assert.equal(after.items[0], before.items[0])
  assert.equal(after.items[1], before.items[1])
})

test("live deltas make a draft, counted once by their offset", () => {
  const talk = play([live(1, 0, "Hel"), live(1, 3, "lo"), live(1, 0, "Hel"), live(1, 3, "lo wor"), live(1, 3, "lo")])
  assert.equal(talk.draft?.text, "Hello wor")
})

test("offsets count code points: an emoji is one, though JavaScript has two units for it", () => {
  const talk = play([live(1, 0, "🎉🎉"), live(1, 2, " 끝"), live(1, 1, "🎉 끝!")])
  assert.equal(talk.draft?.text, "🎉🎉 끝!")
  assert.equal(talk.draft?.chars, 5)
})

test("deltas in any order of repetition give the same draft", () => {
  const text = [..."마당에서 함께 🎉 일해요, and so on."]
  let random = 7
  const next = (below: number) => (random = (random * 16807) % 2147483647) % below
  for (let round = 0; round < 200; round++) {
    let talk = EMPTY_TALK
    let have = 0
    while (have < text.length) {
      const offset = next(have + 1)
      const length = 1 + next(8)
      talk = fold(talk, live(1, offset, text.slice(offset, offset + length).join("")))
      have = Math.max(have, Math.min(text.length, offset + length))
    }
    assert.equal(talk.draft?.text, text.join(""))
  }
})

test("after a gap nothing more is shown until the missing piece comes", () => {
  const gap = play([live(1, 0, "Hel"), live(1, 5, " world")])
  assert.deepEqual([gap.draft?.text, gap.draft?.hasGap], ["Hel", true])
  const filled = play([live(1, 3, "lo world")], gap)
  assert.deepEqual([filled.draft?.text, filled.draft?.hasGap], ["Hello world", false])
})

test("the draft of the next answer replaces that of the last one, and a late piece of that one is dropped", () => {
  const talk = play([live(1, 0, "first"), live(2, 0, "sec"), live(1, 5, "!"), live(2, 3, "ond")])
  assert.equal(talk.draft?.text, "second")
})

test("live thinking has offsets of its own, and how long it took is added up when it is stored", () => {
  const think = (offset: number, delta: string): RunEvent => ({
    type: "REASONING_MESSAGE_CONTENT",
    messageId: "r:1",
    delta,
    metadata: { runId: "r", messageNo: 1, offset },
  })
  const thinking = play([think(0, "🎉 first"), think(7, "\n\nthen"), think(0, "🎉 first")])
  assert.deepEqual([thinking.draft?.thinking.text, thinking.draft?.text], ["🎉 first\n\nthen", ""])
  const writing = play([think(0, "first"), live(1, 0, "Hel"), think(9, "late"), live(1, 3, "lo")])
  assert.deepEqual([writing.draft?.thinking, writing.draft?.text], [{ text: "first", chars: 5, hasGap: true }, "Hello"])

  const stored = play(
    numbered([
      { type: "REASONING_MESSAGE_START", messageId: "a1-t0", role: "reasoning" },
      { type: "REASONING_MESSAGE_CONTENT", messageId: "a1-t0", delta: "first" },
      { type: "REASONING_MESSAGE_END", messageId: "a1-t0", metadata: { tookMs: 900 } },
      { type: "REASONING_MESSAGE_START", messageId: "a1-t2", role: "reasoning" },
      { type: "REASONING_MESSAGE_CONTENT", messageId: "a1-t2", delta: "then" },
      { type: "REASONING_MESSAGE_END", messageId: "a1-t2", metadata: { tookMs: 600 } },
    ]),
  )
  const [item] = stored.items
  assert.ok(item?.kind === "message")
  assert.deepEqual([item.thinking, item.thoughtMs, stored.draft], ["first\n\nthen", 1500, null])
})

test("the stored answer takes the place of the draft in one step", () => {
  const before = play([live(1, 0, "Which for")], play(LOG.slice(0, 8)))
  const after = fold(before, LOG[8]!)
  assert.equal(after.draft, null)
  assert.equal(messages(after).at(-1)?.id, "a1")
})

test("another model in place of one that is away is told between the messages, and what was begun is dropped", () => {
  const begun = play([live(1, 0, "Half an ans")], play(LOG.slice(0, 5)))
  const value = { before: "a", model: "b", code: "unreachable", text: "Switched to b." }
  const switched = fold(begun, { ...custom({ name: "madang/model", value }), seq: 6 })
  assert.equal(switched.draft, null)
  const note = switched.items.at(-1)
  assert.ok(note?.kind === "note")
  assert.deepEqual([note.note, note.text], ["model", "Switched to b."])
})

test("a retry throws away what was written, and says so until the answer is there", () => {
  const begun = play([live(1, 0, "Half an ans")], play(LOG.slice(0, 5)))
  const retry = fold(begun, {
    ...custom({ name: "madang/retry", value: { attempt: 2, afterS: 1, code: "overloaded" } }),
    seq: 6,
  })
  assert.equal(retry.draft, null)
  assert.deepEqual(retry.run, { state: "running", retry: { attempt: 2, code: "overloaded" } })
})

test("a run that fails leaves a note, no draft and no blinking caret", () => {
  const talk = play(
    numbered([{ type: "RUN_ERROR", code: "overloaded", message: "The model is busy." }], 5),
    play([live(1, 0, "Half")], play(LOG.slice(0, 5))),
  )
  assert.equal(talk.draft, null)
  assert.equal(talk.run.state, "failed")
  assert.deepEqual(talk.items.at(-1), {
    kind: "note",
    id: "failed-6",
    note: "failed",
    retryHelps: false,
    seq: 6,
    at: "2026-11-16T06:00:00Z",
    text: "The model is busy.",
    code: "overloaded",
  })
})

test("a process that died is no failure of the run: the next one goes on", () => {
  const talk = play(
    numbered(
      [
        { type: "RUN_ERROR", code: "interrupted", message: "The process that ran it ended." },
        { type: "RUN_STARTED", threadId: "s", runId: "r:2" },
      ],
      5,
    ),
    play([live(1, 0, "Half")], play(LOG.slice(0, 5))),
  )
  assert.deepEqual([talk.run.state, talk.draft, talk.items.length], ["running", null, 1])
})

test("an answer that was cut off says so, and the model is told to be asked again", () => {
  const talk = play(
    numbered([
      { type: "TEXT_MESSAGE_START", messageId: "a1", role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "a1", delta: "Half of an ans" },
      { type: "TEXT_MESSAGE_END", messageId: "a1" },
      custom({
        name: "madang/answered",
        value: { messageId: "a1", model: "m", inputTokens: 9, outputTokens: 9, isCut: true },
      }),
      custom({ name: "madang/mend", value: { messageId: "n1", reason: "cut", text: "It is asked to go on." } }),
    ]),
  )
  assert.deepEqual(
    talk.items.map((item) => (item.kind === "note" ? [item.note, item.text] : [item.isTruncated, item.isCut])),
    [
      [true, false],
      ["mend", "It is asked to go on."],
    ],
  )
})

test("a stop ends calls that run, and leaves one note", () => {
  const stop = numbered([{ type: "RUN_FINISHED", threadId: "s", runId: "r:1", outcome: { type: "cancelled" } }], 15)
  const talk = play([...stop, ...stop], play(LOG.slice(0, 15)))
  assert.equal(talk.calls["a1/c1"]?.isRunning, false)
  assert.deepEqual(talk.items.filter(({ kind }) => kind === "note").length, 1)
})

test("a queued message is listed until the model gets it, or it is withdrawn", () => {
  const queued = play(
    numbered([
      custom({ name: "madang/queued", value: { messageId: "q1", text: "and a chart" } }),
      custom({ name: "madang/queued", value: { messageId: "q2", text: "never mind" } }),
    ]),
  )
  assert.deepEqual(
    queued.queued.map(({ id }) => id),
    ["q1", "q2"],
  )
  const after = play(
    numbered(
      [
        custom({ name: "madang/withdrawn", value: { messageId: "q2" } }),
        { type: "TEXT_MESSAGE_START", messageId: "q1", role: "user" },
        { type: "TEXT_MESSAGE_CONTENT", messageId: "q1", delta: "and a chart" },
      ],
      2,
    ),
    queued,
  )
  assert.deepEqual(after.queued, [])
  assert.deepEqual(
    messages(after).map(({ text }) => text),
    ["and a chart"],
  )
})

test("actions and late answers are notes between the messages", () => {
  const talk = play(
    numbered([
      custom({ name: "madang/action", value: { messageId: "n1", text: "added a to-do" } }),
      custom({ name: "madang/answered_late", value: { messageId: "n2", id: "p1", text: "PDF" } }),
    ]),
  )
  assert.deepEqual(
    talk.items.map((item) => item.kind === "note" && item.note),
    ["action", "answered_late"],
  )
})

test("a snapshot of the services replaces the last one and has no place in the log", () => {
  const talk = play([
    { type: "STATE_SNAPSHOT", snapshot: { services: { planning: { goal: "a" }, ui: {} } } },
    { type: "STATE_SNAPSHOT", snapshot: { services: { planning: { goal: "b" } } } },
  ])
  assert.deepEqual(talk.services, { planning: { goal: "b" } })
  assert.equal(talk.lastSeq, 0)
})

test("an event of a newer server is passed over, and counted", () => {
  const talk = play(LOG)
  const newer = { type: "SOMETHING_NEW", seq: LOG.length + 1 } as unknown as RunEvent
  const newerCustom = { ...custom({ name: "madang/new", value: {} }), seq: LOG.length + 2 }
  assert.deepEqual(play([newer, newerCustom], talk), { ...talk, lastSeq: LOG.length + 2 })
  assert.equal(fold(talk, { type: "SOMETHING_NEW" } as unknown as RunEvent), talk)
})

const PAGE: MessagesPage = {
  lastSeq: 21,
  messages: [
    {
      id: "u1",
      seq: 4,
      kind: "",
      model: "",
      inputTokens: null,
      role: "user",
      createdAt: "2026-11-16T06:00:00Z",
      parts: [{ type: "text", text: "보고서를 만들어 줘" }],
    },
    {
      id: "a1",
      seq: 16,
      kind: "",
      model: "m",
      inputTokens: 900,
      role: "assistant",
      createdAt: "2026-11-16T06:00:00Z",
      parts: [
        { type: "thinking", text: "first look" },
        { type: "text", text: "Which format?" },
        { type: "call", id: "c1", tool: "prompt_user", arguments: '{"prompt":"Which?"}' },
        { type: "hologram" } as never,
      ],
    },
    {
      id: "t1",
      seq: 21,
      kind: "",
      model: "",
      inputTokens: null,
      role: "tool",
      createdAt: "2026-11-16T06:00:00Z",
      parts: [{ type: "result", callId: "c1", tool: "prompt_user", text: "PDF" }],
    },
  ],
  calls: {
    "a1/c1": {
      tool: "prompt_user",
      arguments: '{"prompt":"Which?"}',
      state: "done",
      outcome: "ok",
      text: "PDF",
      data: null,
      dataLeftOut: 0,
      tookMs: 12,
      view: { id: "v1", uri: "ui://x" },
      pauseId: "p1",
      pause: ANSWERED,
    },
  },
  notes: [],
  queued: [],
  untold: [],
  run: { id: "r", state: "running" },
  retry: null,
  hasMore: true,
}

test("a page and the events after it show what the whole log shows", () => {
  const shown = (talk: Talk) => ({
    calls: talk.calls,
    items: talk.items,
    inputTokens: talk.inputTokens,
    run: talk.run,
    lastSeq: talk.lastSeq,
  })
  const opened = openTalk(PAGE)
  assert.deepEqual(shown(play(LOG.slice(21), opened)), shown(play(LOG)))
  assert.deepEqual(shown(play(LOG, opened)), shown(play(LOG)), "and so it does when the stream starts at 0")
})

test("a call without an outcome runs after a reload, as long as its run does", () => {
  const page = { ...PAGE, calls: { "a1/c1": { ...PAGE.calls["a1/c1"]!, outcome: "" as const, text: "" } } }
  const opened = (run: MessagesPage["run"]) => openTalk({ ...page, run }).calls["a1/c1"]
  assert.equal(opened({ id: "r", state: "waiting" })?.isRunning, true)
  assert.equal(opened({ id: "r", state: "cancelled" })?.isRunning, false)
  assert.equal(opened(null)?.isRunning, false)
})

test("an older page goes in front, and what is there already stays", () => {
  const older = {
    id: "u0",
    seq: 2,
    role: "user" as const,
    createdAt: "",
    parts: [{ type: "text" as const, text: "hello" }],
    kind: "" as const,
    model: "",
    inputTokens: null,
  }
  const talk = play(LOG.slice(21), openTalk(PAGE))
  assert.equal(talk.hasOlder, true)
  assert.equal(oldestSeq(talk), 4)
  const more = addOlder(talk, {
    ...PAGE,
    messages: [older, PAGE.messages[0]!],
    calls: {},
    lastSeq: 26,
    hasMore: false,
  })
  assert.deepEqual(
    more.items.map(({ id }) => id),
    ["u0", "u1", "a1", "a2"],
  )
  assert.equal(more.items[1], talk.items[0])
  assert.equal(more.hasOlder, false)
})

test("pictures are shown only of kinds that hold no script", () => {
  const parts = [
    { type: "image" as const, mimeType: "image/png", data: "AA==", alt: "a" },
    { type: "image" as const, mimeType: "image/svg+xml", data: "AA==" },
    { type: "image" as const, mimeType: "text/html", data: "AA==" },
  ]
  const page = { ...PAGE, messages: [{ ...PAGE.messages[0]!, parts }], calls: {} }
  const images = [{ src: "data:image/png;base64,AA==", alt: "a" }]
  assert.deepEqual(messages(openTalk(page))[0]?.images, images)
  assert.deepEqual(messages(addImages(play(LOG), page))[0]?.images, images, "and events do not hold them")
})

test("a call whose id a model used before is another call, and its result goes to the newest", () => {
  const talk = play(
    numbered(
      [
        { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "grep", parentMessageId: "a3" },
        {
          type: "TOOL_CALL_RESULT",
          messageId: "result-c1",
          toolCallId: "c1",
          role: "tool",
          content: "2 matches",
          metadata: { outcome: "ok" },
        },
      ],
      LOG.length,
    ),
    play(LOG),
  )
  assert.deepEqual([talk.calls["a1/c1"]?.text, talk.calls["a3/c1"]?.text], ["PDF", "2 matches"])
})

test("messages that are queued when the page is read are listed", () => {
  const talk = openTalk({ ...PAGE, queued: [{ id: "q1", text: "and a chart", createdAt: "" }] })
  assert.deepEqual(talk.queued, [{ id: "q1", text: "and a chart" }])
})

test("what a run that was stopped has asked is withdrawn, and what it did not do is cancelled", () => {
  const asked = play(LOG.slice(0, 18))
  const withdrawn = [asked.calls["a1/c1"]?.pauseId ?? ""]
  const talk = play(
    numbered([{ type: "RUN_FINISHED", threadId: "s", runId: "r:2", outcome: { type: "cancelled", withdrawn } }], 18),
    asked,
  )
  const call = talk.calls["a1/c1"]
  assert.deepEqual([call?.isRunning, call?.outcome, call?.pause?.status], [false, "cancelled", "withdrawn"])
})

test("what a run that failed has asked stays open", () => {
  const failed = numbered([{ type: "RUN_ERROR", message: "The server is away.", code: "unavailable" }], 18)
  const call = play(failed, play(LOG.slice(0, 18))).calls["a1/c1"]
  assert.deepEqual([call?.isRunning, call?.outcome, call?.pause?.status], [false, "unanswered", "open"])
})

test("an answer that is begun anew replaces what was written of the first attempt", () => {
  const talk = play([live(1, 0, "The first attempt"), live(1, 0, "Anoth"), live(1, 5, "er one")])
  assert.equal(talk.draft?.text, "Another one")
})

test("the first answer of another run is not taken for an old piece", () => {
  const other = { ...live(1, 0, "new"), metadata: { runId: "r2", messageNo: 1, offset: 0 } } as RunEvent
  assert.equal(play([live(7, 0, "old"), other]).draft?.text, "new")
})

test("the runs at work are those that were told last", () => {
  const run = { id: "r", sessionId: "other", title: "Shopping", startedAt: "2026-11-16T09:00:00Z", isElsewhere: true }
  const begun = play([custom({ name: "madang/runs", value: { runs: [run] } })])
  assert.deepEqual(begun.runs, [run])
  assert.deepEqual(fold(begun, custom({ name: "madang/runs", value: { runs: [] } })).runs, [])
})

test("an outage of the database is told until it is over", () => {
  const away = play([custom({ name: "madang/outage", value: { reason: "The disk is full." } })])
  assert.equal(away.outage, "The disk is full.")
  assert.equal(fold(away, custom({ name: "madang/outage", value: { reason: "" } })).outage, "")
})

test("what the person did is untold until the model was told, and counts once", () => {
  const noted = (id: string, seq: number): RunEvent => ({
    type: "CUSTOM",
    name: "madang/noted",
    value: { id, by: "person", text: `[add_todo] ${id}` },
    seq,
  })
  const page = { ...PAGE, untold: [{ id: "a", by: "person", text: "[add_todo] a" }] }
  const talk = [noted("a", 22), noted("b", 23)].reduce(fold, openTalk(page))
  assert.deepEqual(
    talk.untold.map(({ id }) => id),
    ["a", "b"],
  )
  const told = fold(talk, {
    type: "CUSTOM",
    name: "madang/action",
    value: { messageId: "m", text: "Meanwhile the person did this" },
    seq: 24,
  })
  assert.deepEqual(told.untold, [])
})
