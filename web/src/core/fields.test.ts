import assert from "node:assert/strict"
import { test } from "node:test"

import { freeName, isTaken } from "./fields.ts"

test("a model that was found gets a name that cannot be mistaken for an address", () => {
  assert.equal(freeName("qwen3.5:9b", []), "qwen3.5-9b")
  assert.equal(freeName("org/model#1", ["org-model-1"]), "org-model-1-2")
  assert.equal(freeName("//", []), "-")
})

test("a number is taken within its bounds, and what is none is not", () => {
  assert.equal(isTaken("", 1), true)
  assert.equal(isTaken("50", 1), true)
  assert.equal(isTaken("0", 1), false)
  assert.equal(isTaken("1.5", 1), false)
  assert.equal(isTaken("0.7", 0, 2, 0.1), true)
  assert.equal(isTaken("2.1", 0, 2, 0.1), false)
  for (const text of ["x", "-1", "1e3", "１", "0x10"]) assert.equal(isTaken(text, 0), false, text)
})
