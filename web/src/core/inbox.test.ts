import assert from "node:assert/strict"
import { test } from "node:test"

import type { InboxItem } from "../wire/types.ts"
import { mergeInbox, questionsOf, sortInbox } from "./inbox.ts"

const item = (id: string, values: Partial<InboxItem>) =>
  ({ id, type: "text", openedAt: "2026-11-16T06:00:00Z", expiresAt: "", ...values }) as InboxItem

test("approvals come first, then what runs out first, then what was asked first", () => {
  const items = [
    item("for ever, later", { openedAt: "2026-11-16T07:00:00Z" }),
    item("for ever, earlier", {}),
    item("tomorrow", { expiresAt: "2026-11-17T06:00:00Z" }),
    item("in an hour", { expiresAt: "2026-11-16T07:00:00.000Z", type: "wait" }),
    item("approval", { type: "approval", openedAt: "2026-11-16T08:00:00Z" }),
  ]
  assert.deepEqual(
    sortInbox(items).map(({ id }) => id),
    ["approval", "in an hour", "tomorrow", "for ever, earlier", "for ever, later"],
  )
})

test("the turn of a model that there is none of is no question", () => {
  const items = [item("question", {}), item("turn", { type: "model" }), item("approval", { type: "approval" })]
  assert.deepEqual(
    questionsOf(items).map(({ id }) => id),
    ["question", "approval"],
  )
})

test("what a stream tells of the inbox is put in, in the server's order, without what is not open any more", () => {
  const [settled, open, opened] = [item("settled", {}), item("open", {}), item("opened", { text: "Which tea?" })]
  assert.deepEqual(mergeInbox([settled, open], { ids: ["opened", "open"], items: [opened] }), [opened, open])
  assert.deepEqual(mergeInbox([settled], { ids: [], items: [] }), [])
})

test("an inbox with something that was never told has to be read", () => {
  assert.equal(mergeInbox([item("open", {})], { ids: ["missed", "open"], items: [] }), null)
})
