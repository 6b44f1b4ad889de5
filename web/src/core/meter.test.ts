import assert from "node:assert/strict"
import { test } from "node:test"

import { contextText } from "./meter.ts"

test("how full the context is, is told as a part of the model's window where that is known", () => {
  assert.equal(contextText(8_200, null, "ko"), "맥락: 토큰 8,200개")
  assert.equal(contextText(8_200, 32_000, "ko"), "맥락 26% · 토큰 8,200 / 32,000")
  assert.equal(contextText(8_200, 32_000, "en"), "Context 26% · 8,200 of 32,000 tokens")
})
