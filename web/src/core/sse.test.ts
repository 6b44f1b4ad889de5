import assert from "node:assert/strict"
import { test } from "node:test"

import { SseParser } from "./sse.ts"

const STREAM = 'id: 7\ndata: {"type":"RUN_STARTED"}\n\n: ping\n\ndata: a\ndata: b\n\n'
const EVENTS = [
  { id: "7", data: '{"type":"RUN_STARTED"}' },
  { id: "", data: "a\nb" },
]

test("a stream cut at any place gives the same events", () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    const parser = new SseParser()
    assert.deepEqual([...parser.push(STREAM.slice(0, cut)), ...parser.push(STREAM.slice(cut))], EVENTS)
  }
})

test("a stream that comes one character at a time gives the same events, with every kind of line end", () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const parser = new SseParser()
    // With bare CRs the last one is held back until it is known not to be half of a CRLF.
    const text = STREAM.replaceAll("\n", end) + (end === "\r" ? ":" : "")
    assert.deepEqual(
      [...text].flatMap((character) => parser.push(character)),
      EVENTS,
    )
  }
})

test("an id does not pass on to the next event", () => {
  const parser = new SseParser()
  assert.deepEqual(
    parser.push("id: 1\ndata: x\n\ndata: y\n\n").map(({ id }) => id),
    ["1", ""],
  )
})

test("an event that is not complete is not given", () => {
  assert.deepEqual(new SseParser().push("id: 1\ndata: x\n"), [])
})
