import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"

import { readDraft, readFiles, writeDraft, writeFiles } from "./drafts.ts"

function storage() {
  const kept = new Map<string, string>()
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  }
}

const put = (name: string, value: unknown) => Object.defineProperty(globalThis, name, { configurable: true, value })

beforeEach(() => {
  put("localStorage", storage())
  put("sessionStorage", storage())
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

test("a tab that sends its draft leaves that of another one, and a new tab gets the last that was written", () => {
  const [one, other] = [storage(), storage()]
  const inTab = (tab: ReturnType<typeof storage>) => put("sessionStorage", tab)
  inTab(one)
  writeDraft("a", "first")
  inTab(other)
  assert.equal(readDraft("a"), "first")
  writeDraft("a", "second")
  inTab(one)
  assert.equal(readDraft("a"), "first")
  writeDraft("a", "") // sent
  inTab(other)
  assert.equal(readDraft("a"), "second")
  inTab(storage())
  assert.equal(readDraft("a"), "second")
})

test("a draft that another tab has begun, and sends, is not kept by one that only saw it", () => {
  const [one, other] = [storage(), storage()]
  put("sessionStorage", one)
  writeDraft("a", "first")
  put("sessionStorage", other)
  writeDraft("a", readDraft("a")) // a field writes what it has read
  put("sessionStorage", one)
  writeDraft("a", "")
  put("sessionStorage", other)
  assert.equal(readDraft("a"), "")
})
