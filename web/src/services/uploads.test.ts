import assert from "node:assert/strict"
import { test } from "node:test"

import { MAX_AT_ONCE, sendFile, uploads } from "./uploads.ts"

const target = { sessionId: "s", panel: "contents", name: "a" } as const

/** A file that is sent until it is told to end, or its signal is given. */
function pending() {
  let resolve: (answer: string) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<string>((...ends) => ([resolve, reject] = ends))
  let report: (share: number) => void = () => assert.fail("it was not sent yet")
  let isSent = false
  const done = sendFile(target, (signal, onProgress) => {
    isSent = true
    report = onProgress
    signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")))
    return promise
  })
  return { done, resolve, reject, report: (share: number) => report(share), isSent: () => isSent }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test("an upload shows how much of it is sent, and is gone with its answer", async () => {
  const file = pending()
  await settle()
  file.report(0.5)
  assert.deepEqual(
    uploads.get().map(({ name, share }) => [name, share]),
    [["a", 0.5]],
  )
  file.resolve("content-1")
  assert.equal(await file.done, "content-1")
  assert.deepEqual(uploads.get(), [])
})

test("one that is cancelled ends without an answer, and another takes its place", async () => {
  const files = Array.from({ length: MAX_AT_ONCE + 2 }, pending)
  await settle()
  assert.deepEqual(
    files.map(({ isSent }) => isSent()),
    [true, true, true, false, false],
  )
  assert.equal(uploads.get()[3]!.startedAt, null)
  uploads.get()[3]!.cancel() // it waits still
  assert.equal(await files[3]!.done, undefined)
  uploads.get()[0]!.cancel()
  assert.equal(await files[0]!.done, undefined)
  await settle()
  assert.equal(files[3]!.isSent(), false)
  assert.equal(files[4]!.isSent(), true)
  for (const file of files) file.resolve("")
  await Promise.all(files.map(({ done }) => done))
  assert.deepEqual(uploads.get(), [])
})

test("a refusal is the caller's to tell", async () => {
  const file = pending()
  await settle()
  file.reject(new Error("too large"))
  await assert.rejects(file.done, /too large/)
  assert.deepEqual(uploads.get(), [])
})
