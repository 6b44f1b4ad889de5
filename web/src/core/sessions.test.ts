import assert from "node:assert/strict"
import { test } from "node:test"

import type { Session } from "../wire/types.ts"
import { mergeSessions } from "./sessions.ts"

const session = (id: string, minute: number, values: Partial<Session> = {}): Session => ({
  id,
  title: id,
  assistantId: "",
  locale: null,
  parentId: "",
  createdAt: "2026-11-01T00:00:00.000Z",
  lastAt: `2026-11-01T00:${String(minute).padStart(2, "0")}:00.000Z`,
  lastSeq: 0,
  isPinned: false,
  isArchived: false,
  run: null,
  openPauses: 0,
  client: "",
  ...values,
})

const told = (sessions: Session[], gone: string[] = []) => ({ sessions, gone, isIncomplete: false })

test("a session that is told takes its place by when it was used last", () => {
  const list = [session("b", 20), session("a", 10)]
  const merged = mergeSessions(list, told([session("a", 30, { title: "Renamed" }), session("c", 15)]))
  assert.deepEqual(
    merged.map(({ id, title }) => [id, title]),
    [
      ["a", "Renamed"],
      ["b", "b"],
      ["c", "c"],
    ],
  )
})

test("what is deleted or archived leaves the list", () => {
  const list = [session("c", 30), session("b", 20), session("a", 10)]
  const merged = mergeSessions(list, told([session("b", 40, { isArchived: true })], ["c"]))
  assert.deepEqual(
    merged.map(({ id }) => id),
    ["a"],
  )
})
