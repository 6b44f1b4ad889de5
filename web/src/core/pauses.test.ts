import assert from "node:assert/strict"
import { test } from "node:test"

import type { ViewPause } from "../wire/types.ts"
import { speaker } from "../texts.ts"
import { addPage, endOf, splitByDay } from "./pauses.ts"

const pause = (values: Partial<ViewPause>): ViewPause => ({
  id: "p",
  status: "answered",
  settledBy: "person",
  settledAt: "2026-11-16T05:00:00.000Z",
  settler: "",
  answer: "",
  ...values,
})

const told = (...[one, isElsewhere]: Parameters<typeof endOf>) => {
  const end = endOf(one, isElsewhere)
  return end && [speaker("ko")(end.text), end.detail].filter(Boolean).join(" · ")
}

test("how a question ended is told in words, with the answer or who gave it", () => {
  assert.equal(told(pause({ answer: "PDF" })), "답함 · PDF")
  assert.equal(told(pause({ settledBy: "client", settler: "Claude Desktop" })), "다른 곳에서 답함 · Claude Desktop")
  assert.equal(told(pause({ settledBy: "relayed", settler: "Codex" })), "다른 곳에서 답함 · Codex")
  assert.equal(told(pause({ settledBy: "program" })), "다른 곳에서 답함")
  assert.equal(told(pause({ status: "expired", settledBy: "run" })), "기한 지남")
  assert.equal(told(pause({ status: "cancelled" })), "건너뜀")
  assert.equal(told(pause({ status: "superseded", settledBy: "run" })), "다른 질문으로 바뀜")
  assert.equal(told(pause({ status: "withdrawn", settledBy: "run" })), "거둠")
  assert.equal(told(pause({ status: "open", settledBy: "" })), "내 차례")
})

test("what another tab of the person answered is told as elsewhere while this one shows it", () => {
  assert.equal(told(pause({ answer: "PDF" }), true), "다른 곳에서 답함")
})

test("an approval is allowed or refused, and a wait goes on", () => {
  assert.equal(told({ ...pause({}), kind: "approval" }), "허용함")
  assert.equal(told({ ...pause({ status: "cancelled" }), kind: "approval" }), "거절함")
  assert.equal(told({ ...pause({}), kind: "wait" }), "이어 감")
})

test("a status of a newer server is no end that is known", () => {
  assert.equal(endOf(pause({ status: "postponed" as ViewPause["status"] })), null)
})

test("what ended today stands apart from what ended before", () => {
  const now = new Date(2026, 10, 16, 9)
  const at = (day: number, hour: number) => ({ settledAt: new Date(2026, 10, day, hour).toISOString() })
  const items = [at(16, 8), at(16, 0), at(15, 23), at(10, 9)]
  assert.deepEqual(splitByDay(items, now), { today: items.slice(0, 2), before: items.slice(2) })
})

test("a page is put behind those that are there, nothing twice", () => {
  assert.deepEqual(addPage([{ id: "b" }, { id: "a" }], [{ id: "a" }, { id: "0" }]), [
    { id: "b" },
    { id: "a" },
    { id: "0" },
  ])
})
