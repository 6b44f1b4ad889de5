import assert from "node:assert/strict"
import { test } from "node:test"

import { isSeparable, splitBlocks } from "./blocks.ts"

const TEXT = [
  "# Title",
  "First line\nsecond line",
  "- one\n\n- two\n\n  more of two",
  "```py\nx = 1\n\ny = 2\n```",
  "| a | b |\n|---|---|\n| 1 | 2 |",
  "> quote\n\n> goes on",
  "The end.",
]

test("text is cut at blank lines, but lists, quotes and fences stay whole", () => {
  assert.deepEqual(splitBlocks(TEXT.join("\n\n")), TEXT)
})

test("a fence that is still open is one block", () => {
  assert.deepEqual(splitBlocks("before\n\n~~~\na\n\nb\n\n```\nc"), ["before", "~~~\na\n\nb\n\n```\nc"])
})

test("blocks before the last two do not change while text is added", () => {
  const text = TEXT.join("\n\n")
  let last: string[] = []
  for (let length = 0; length <= text.length; length++) {
    const blocks = splitBlocks(text.slice(0, length))
    const stable = Math.max(0, last.length - 2)
    assert.deepEqual(blocks.slice(0, stable), last.slice(0, stable))
    last = blocks
  }
})

test("no text has no blocks, and blank lines around it are dropped", () => {
  assert.deepEqual(splitBlocks(""), [])
  assert.deepEqual(splitBlocks("\n\n a\n\n"), [" a"])
})

test("blocks that need one another are told: addresses of links and footnotes stand elsewhere", () => {
  assert.equal(isSeparable(TEXT.join("\n\n")), true)
  assert.equal(isSeparable("See [the book][1].\n\n[1]: https://example.org/"), false)
  assert.equal(isSeparable("It rests[^1].\n\n  [^1]: For some days."), false)
})
