import assert from "node:assert/strict"
import { test } from "node:test"

import { prettyJson } from "./json.ts"

test("JSON is set out over lines", () => {
  const value = { a: [1, { b: "x, {y}: [z]" }, [], {}], "한 글": null, c: true, d: -1.5e-7, e: "" }
  for (const spacing of [undefined, 1, 4]) {
    assert.equal(prettyJson(JSON.stringify(value, null, spacing)), JSON.stringify(value, null, 2))
  }
  for (const text of ["[ ]", "{\n}", '"x"', "12"]) {
    assert.equal(prettyJson(text), JSON.stringify(JSON.parse(text), null, 2))
  }
})

test("what is no JSON stays as it is", () => {
  for (const text of ["", "no", '{"a": ', "{'a': 1}"]) assert.equal(prettyJson(text), text)
})

test("numbers and names that are there twice are shown as they were written", () => {
  assert.equal(
    prettyJson('{"n":12345678901234567890,"n":1e400,"m":1.10}'),
    '{\n  "n": 12345678901234567890,\n  "n": 1e400,\n  "m": 1.10\n}',
  )
})

test("words are readable however they were written, and what is not seen is shown as an escape", () => {
  assert.equal(prettyJson(String.raw`"\ud55c\uae00 \ud83c\udf75 👩\u200d🍳"`), '"한글 🍵 👩\u200d🍳"')
  for (const hidden of ["\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\u009b", "\u{e0041}", "\u0000", "\n"]) {
    const shown = prettyJson(JSON.stringify({ path: `a${hidden}txt.exe` }))
    assert.equal(/^[\x20-\x7e\n]*$/.test(shown), true, shown)
    assert.deepEqual(JSON.parse(shown), { path: `a${hidden}txt.exe` })
  }
})

test("a long text without an end is set out at once", () => {
  const text = JSON.stringify({ a: `${'\\" '.repeat(200_000)}` })
  assert.deepEqual(JSON.parse(prettyJson(text)), JSON.parse(text))
  assert.equal(prettyJson(`"${"\\".repeat(300_001)}`), `"${"\\".repeat(300_001)}`)
})
