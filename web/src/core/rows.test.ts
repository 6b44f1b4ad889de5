import assert from "node:assert/strict"
import { test } from "node:test"

import type { CallState, Item, MessageItem } from "./items.ts"
import { NEW_CALL } from "./page.ts"
import { firstArgument, groupCalls, rowsOf } from "./rows.ts"

const message = (id: string, values: Partial<MessageItem> = {}): MessageItem => ({
  kind: "message",
  id,
  role: "assistant",
  seq: 1,
  at: "",
  text: "",
  thinking: "",
  thoughtMs: null,
  images: [],
  files: [],
  callKeys: [],
  model: "",
  isCut: false,
  isTruncated: false,
  ...values,
})
const call = (tool: string, values: Partial<CallState> = {}): CallState => ({
  ...NEW_CALL,
  id: tool,
  tool,
  isRunning: false,
  outcome: "ok",
  ...values,
})

test("calls without a word between them share a row; a page or a text begins a new one", () => {
  const items: Item[] = [
    message("q", { role: "user", text: "go" }),
    message("a", { text: "I look", callKeys: ["1"] }),
    message("b", { callKeys: ["2"] }),
    message("c", { callKeys: ["3"] }),
    message("d", { text: "done" }),
  ]
  const calls = { 1: call("grep"), 2: call("visualize_data", { viewId: "v" }), 3: call("grep") }
  assert.deepEqual(
    rowsOf(items, calls).map((row) => (row.kind === "answer" ? [row.isFirst, row.items.map(({ id }) => id)] : row.id)),
    ["q", [true, ["a", "b"]], [false, ["c"]], [false, ["d"]]],
  )
})

test("a note says whose it is where nothing of an answer stands before it", () => {
  const note = (id: string): Item => ({
    kind: "note",
    id,
    note: "failed",
    seq: 1,
    at: "",
    text: "busy",
    code: "overloaded",
    retryHelps: true,
  })
  const items: Item[] = [
    message("q", { role: "user", text: "go" }),
    note("m"),
    message("a", { text: "I look" }),
    note("n"),
  ]
  assert.deepEqual(
    rowsOf(items, {}).flatMap((row) => (row.kind === "note" ? [[row.id, row.isFirst]] : [])),
    [
      ["m", true],
      ["n", false],
    ],
  )
})

test("three calls of one tool are told as one, unless one of them failed or shows something", () => {
  const sizes = (calls: CallState[]) => groupCalls(calls).map((group) => group.length)
  const todo = call("add_todo")
  assert.deepEqual(sizes([call("grep"), todo, todo, todo]), [1, 3])
  assert.deepEqual(sizes([todo, todo]), [1, 1])
  assert.deepEqual(sizes([todo, todo, call("add_todo", { outcome: "error" }), todo]), [1, 1, 1, 1])
  assert.deepEqual(sizes([todo, todo, todo, call("add_todo", { isRunning: true })]), [3, 1])
})

test("the first argument is told; what is no JSON as it is", () => {
  assert.equal(firstArgument('{"path":"a.md","n":1}'), "a.md")
  assert.equal(firstArgument('{"n":{"a":1}}'), '{"a":1}')
  assert.equal(firstArgument("{}"), "")
  assert.equal(firstArgument("{oops"), "{oops")
})
