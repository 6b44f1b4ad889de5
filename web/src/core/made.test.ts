import assert from "node:assert/strict"
import { test } from "node:test"

import type { ToolOutcome } from "../wire/types.ts"
import type { MessageItem } from "./items.ts"
import { EMPTY_TALK, type Talk } from "./talk.ts"
import { addOwn, isPending, MAX_KEPT, MAX_KEPT_CHARS, mergeCalls, ownCall, turnsOf } from "./made.ts"
import { NEW_CALL } from "./page.ts"

const OUTCOME: ToolOutcome = { text: "ok", data: {}, isError: false, tookMs: 1, view: null, pauseId: "" }

const answer = (id: string, model: string, at: string, ...callKeys: string[]): MessageItem => ({
  ...{
    kind: "message",
    id,
    role: "assistant",
    seq: 1,
    at,
    text: "",
    thinking: "",
    images: [],
    files: [],
    callKeys,
    model,
  },
  thoughtMs: null,
  isCut: false,
  isTruncated: false,
})

const TALK: Talk = {
  ...EMPTY_TALK,
  items: [
    answer("a", "qwen3", "2026-11-16T06:00:00Z", "a/1"),
    answer("b", "manual", "2026-11-16T07:00:00Z", "b/2", "b/3"),
    answer("c", "manual", "2026-11-16T08:00:00Z", "c/4"),
  ],
  calls: {
    "a/1": { ...NEW_CALL, id: "1", tool: "add_todo" },
    "b/2": { ...NEW_CALL, id: "2", tool: "write_file", arguments: '{"path":"a.md"}', isRunning: false, outcome: "ok" },
    "b/3": { ...NEW_CALL, id: "3", tool: "export_file", arguments: "no JSON", isRunning: false, outcome: "error" },
    "c/4": { ...NEW_CALL, id: "4", tool: "prompt_user", pauseId: "p", viewId: "v" },
  },
}

test("what the person called in the model's place is read from the talk, newest first", () => {
  const made = turnsOf(TALK)
  assert.deepEqual(
    made.map(({ id, isError }) => [id, isError]),
    [
      ["4", false],
      ["3", true],
      ["2", false],
    ],
  )
  assert.deepEqual(made[2]!.values, { path: "a.md" })
  assert.deepEqual(made[1]!.values, {})
  assert.equal(made[0]!.viewId, "v")
})

test("a call is pending while neither its outcome nor its question is there", () => {
  const [asking, , done] = turnsOf(TALK)
  assert.equal(isPending(asking!), false)
  assert.equal(isPending({ ...asking!, pauseId: "" }), true)
  assert.equal(isPending(done!), false)
})

test("own calls stand between turns by their time", () => {
  const own = ownCall("own", "2026-11-16T07:30:00Z", "get_state", {}, OUTCOME)
  assert.deepEqual(
    mergeCalls(turnsOf(TALK), [own]).map(({ id }) => id),
    ["4", "own", "3", "2"],
  )
})

test("own calls are bounded by their number and their size, and the newest is always kept", () => {
  const make = (id: number, text: string) => ownCall(`${id}`, "", "add_todo", {}, { ...OUTCOME, text })
  const many = Array.from({ length: MAX_KEPT + 5 }, (_, id) => make(id, "")).reduce(addOwn, [])
  assert.equal(many.length, MAX_KEPT)
  assert.equal(many[0]!.id, `${MAX_KEPT + 4}`)
  const large = "x".repeat(MAX_KEPT_CHARS / 3)
  assert.equal([1, 2, 3, 4].map((id) => make(id, large)).reduce(addOwn, []).length, 2)
  assert.equal(addOwn(many, make(99, "x".repeat(MAX_KEPT_CHARS))).length, 1)
})

test("data that are too large are told by their size", () => {
  const data = { rows: "x".repeat(40_000) }
  const call = ownCall("1", "", "list_files", {}, { ...OUTCOME, data })
  assert.equal(call.data, null)
  assert.equal(call.dataLeftOut, JSON.stringify(data).length)
})
