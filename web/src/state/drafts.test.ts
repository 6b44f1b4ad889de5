import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"

import { readDraft, readFiles, writeDraft, writeFiles } from "./drafts.ts"

beforeEach(() => {
  const kept = new Map<string, string>()
  Object.defineProperty(globalThis, "localStorage", {
    configurable: true,
    value: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    },
  })
})

test("a draft and its files are kept by session, and gone once they are sent", () => {
  writeDraft("a", "안녕")
  writeFiles("a", [{ contentId: "c", name: "표.csv", size: 3 }])
  assert.equal(readDraft("a"), "안녕")
  assert.equal(readDraft("b"), "")
  assert.deepEqual(readFiles("a"), [{ contentId: "c", name: "표.csv", size: 3 }])
  writeDraft("a", "")
  writeFiles("a", [])
  assert.equal(readDraft("a"), "")
  assert.deepEqual(readFiles("a"), [])
})

test("what is kept and is no list of files counts as none", () => {
  localStorage.setItem("madang.files.a", "{oops")
  assert.deepEqual(readFiles("a"), [])
  localStorage.setItem("madang.files.a", '[{"contentId":1}, null, {"contentId":"c","name":"n","size":1}]')
  assert.deepEqual(readFiles("a"), [{ contentId: "c", name: "n", size: 1 }])
})
