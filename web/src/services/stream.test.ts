import assert from "node:assert/strict"
import { test } from "node:test"

import { ApiError } from "./api.ts"
import { follow, followAll, judgeSeq, type OpenStream } from "./stream.ts"
import type { RunEvent } from "../wire/types.ts"

const stored = (seq: number) =>
  `id: ${seq}\ndata: ${JSON.stringify({ type: "TEXT_MESSAGE_END", messageId: `m${seq}` })}\n\n`
const resync = (reason: string) =>
  `data: ${JSON.stringify({ type: "CUSTOM", name: "madang/resync", value: { reason } })}\n\n`

/** Follow a session whose connections send these texts, one after the other, and then say nothing more. */
function play(connections: (string | ApiError)[], after = 0) {
  const paths: string[] = []
  const events: RunEvent[] = []
  let told = ""
  let finish = () => {}
  const done = new Promise<void>((resolve) => (finish = resolve))
  const open: OpenStream = (path, signal) => {
    paths.push(path)
    const text = connections.shift()
    if (text instanceof ApiError) return Promise.reject(text)
    if (text === undefined) {
      finish()
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))
    }
    return Promise.resolve(new Blob([text]).stream())
  }
  const following = follow(
    "s 1",
    after,
    {
      onEvent: (event) => events.push(event),
      onConnection: (isOpen) => {
        if (!isOpen) setTimeout(() => following.retryNow())
      },
      onReset: () => {
        told = "reset"
        finish()
      },
      onRefused: ({ status }) => {
        told = `refused ${status}`
        finish()
      },
    },
    open,
  )
  return done.then(() => {
    following.close()
    return { paths, seqs: events.map(({ seq }) => seq), told }
  })
}

const path = (after: number) => `/api/sessions/~cyAx/events?after=${after}`

test("a stream that is cut goes on after the last event, with each event once", async () => {
  const { paths, seqs } = await play([stored(1) + stored(2), stored(2) + stored(3), stored(4)])
  assert.deepEqual(seqs, [1, 2, 3, 4])
  assert.deepEqual(paths, [path(0), path(2), path(3), path(4)])
})

test("an event that is cut in its middle comes again whole", async () => {
  const { seqs } = await play([stored(1) + stored(2).slice(0, -4), stored(2)])
  assert.deepEqual(seqs, [1, 2])
})

test("after a gap the missing events are asked for, and none after it is taken", async () => {
  const { paths, seqs } = await play([stored(1) + stored(3), stored(2) + stored(3)])
  assert.deepEqual(seqs, [1, 2, 3])
  assert.deepEqual(paths.slice(0, 2), [path(0), path(1)])
})

test("live events have no number and are passed on as they come", async () => {
  const live = `data: ${JSON.stringify({ type: "STATE_SNAPSHOT", snapshot: { services: {} } })}\n\n`
  assert.deepEqual((await play([live + stored(8) + live], 7)).seqs, [undefined, 8, undefined])
})

test("a server that stops, is busy or fails is asked again", async () => {
  const { seqs, told } = await play([
    resync("stopping"),
    new ApiError(503, {}),
    new ApiError(429, {}),
    resync("slow"),
    stored(1),
  ])
  assert.deepEqual([seqs, told], [[1], ""])
})

test("a log that is not the one we know is read anew", async () => {
  for (const reason of ["gap", "beyond"]) assert.equal((await play([stored(1) + resync(reason)])).told, "reset")
})

test("a refusal for good ends it", async () => {
  for (const status of [401, 404]) {
    const { paths, told } = await play([new ApiError(status, {})])
    assert.deepEqual([paths.length, told], [1, `refused ${status}`])
  }
})

test("a number is next, known or after a gap", () => {
  assert.deepEqual([judgeSeq(4, 5), judgeSeq(4, 4), judgeSeq(4, 6)], ["next", "known", "gap"])
})

test("what changes outside of sessions is followed without numbers, again after a break", async () => {
  const told = `data: ${JSON.stringify({ type: "CUSTOM", name: "madang/inbox", value: { open: 2, turns: 0 } })}\n\n`
  const connections = [told, told]
  const paths: string[] = []
  const events: RunEvent[] = []
  await new Promise<void>((resolve) => {
    const following = followAll(
      {
        onEvent: (event) => events.push(event),
        onConnection: (isOpen) => {
          if (!isOpen) setTimeout(() => following.retryNow())
        },
        onReset: () => {},
        onRefused: () => {},
      },
      (path, signal) => {
        paths.push(path)
        const text = connections.shift()
        if (text !== undefined) return Promise.resolve(new Blob([text]).stream())
        setTimeout(() => {
          following.close()
          resolve()
        })
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))
      },
    )
  })
  assert.deepEqual(paths, ["/api/events", "/api/events", "/api/events"])
  assert.equal(events.length, 2)
})
