import assert from "node:assert/strict"
import { test } from "node:test"

import { decodeNamedCharacterReference } from "./entities.ts"

test("names that people write are their characters, others stay as they were written", () => {
  assert.equal(decodeNamedCharacterReference("nbsp"), "\u00a0")
  assert.equal(decodeNamedCharacterReference("lt"), "<")
  assert.equal(decodeNamedCharacterReference("rarr"), "→")
  assert.equal(decodeNamedCharacterReference("CounterClockwiseContourIntegral"), false)
  assert.equal(decodeNamedCharacterReference("constructor"), false)
})
