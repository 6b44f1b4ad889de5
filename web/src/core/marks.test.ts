import assert from "node:assert/strict"
import { test } from "node:test"

import { marksOf } from "./marks.ts"

test("the words of a query are marked, whatever their case; the pieces are the text again", () => {
  assert.deepEqual(marksOf("초안을 보고서에 내보내기", "보고서 내보내기"), [
    [false, "초안을 "],
    [true, "보고서"],
    [false, "에 "],
    [true, "내보내기"],
  ])
  assert.deepEqual(marksOf("Export it", "EXPORT"), [
    [true, "Export"],
    [false, " it"],
  ])
})

test("signs of patterns are plain letters", () => {
  assert.deepEqual(marksOf("a.b (c) a+b", "(c) .b a+b -"), [
    [false, "a"],
    [true, ".b"],
    [false, " "],
    [true, "(c)"],
    [false, " "],
    [true, "a+b"],
  ])
  assert.deepEqual(marksOf("text", " "), [[false, "text"]])
})
