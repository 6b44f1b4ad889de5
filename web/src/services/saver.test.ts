import assert from "node:assert/strict"
import { test } from "node:test"

import { Saver } from "./saver.ts"

interface Patch {
  name?: string
  model?: string
}
type Sent = Patch & { version: number }

function saver(send: (patch: Sent) => Promise<{ version: number }>, errors: unknown[] = []) {
  return new Saver<Patch, { version: number }>(
    1,
    send,
    () => {},
    (error) => errors.push(error),
    60_000,
  )
}

test("changes that come together are sent together, with the version that was read", async () => {
  const sent: Sent[] = []
  const one = saver(async (patch) => {
    sent.push(patch)
    return { version: patch.version + 1 }
  })
  one.change({ name: "a" })
  one.change({ model: "x" })
  one.change({ name: "b" })
  assert.equal(one.store.get().status, "saving")
  await one.flush()
  assert.deepEqual(sent, [{ name: "b", model: "x", version: 1 }])
  assert.equal(one.store.get().status, "saved")
})

test("what is changed while a request is under way goes with the next version", async () => {
  const sent: Sent[] = []
  let answer = (_: { version: number }) => {}
  const one = saver((patch) => {
    sent.push(patch)
    return new Promise((resolve) => (answer = resolve))
  })
  one.change({ name: "a" })
  const first = one.flush()
  await Promise.resolve()
  one.change({ name: "b" })
  answer({ version: 7 })
  await new Promise((resolve) => setTimeout(resolve))
  answer({ version: 8 })
  await first
  assert.deepEqual(sent, [
    { name: "a", version: 1 },
    { name: "b", version: 7 },
  ])
})

test("a refusal is told once and nothing is sent again by itself", async () => {
  const errors: unknown[] = []
  let count = 0
  const one = saver(async () => {
    count++
    throw new Error("changed meanwhile")
  }, errors)
  one.change({ name: "a" })
  await one.flush()
  await one.flush()
  assert.equal(count, 1)
  assert.equal(errors.length, 1)
  assert.equal(one.store.get().status, "failed")
})
