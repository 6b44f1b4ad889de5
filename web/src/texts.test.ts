import assert from "node:assert/strict"
import { test } from "node:test"

import { deedOf, speaker } from "./texts.ts"

test("values are filled in, in either language, and a missing one stays visible", () => {
  assert.equal(speaker("ko")("questionsWait", { count: 2 }), "질문 2개가 답을 기다립니다")
  assert.equal(speaker("en")("ofMany", { number: 1 }), "1 / {count}")
})

test("a tool without a deed is told by its name", () => {
  assert.equal(deedOf("grep", "ko"), "파일에서 찾음")
  assert.equal(deedOf("foreign_tool", "ko"), "foreign_tool")
})
