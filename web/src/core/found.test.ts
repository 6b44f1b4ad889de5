import assert from "node:assert/strict"
import { test } from "node:test"

import type { Session, SessionsPage } from "../wire/types.ts"
import { countPlaces, hitOf, sessionsWith } from "./found.ts"

const session = (id: string, title: string) => ({ id, title }) as Session
const hit = (sessionId: string, kind: "said" | "returned", messageId: string) => ({
  sessionId,
  kind,
  messageId,
  excerpt: "tea",
})
const page: SessionsPage = {
  sessions: [session("a", "Tea"), session("b", "Coffee"), session("c", "Green tea")],
  hits: [hit("b", "returned", "3"), hit("b", "said", "2"), hit("a", "said", "1")],
  next: "",
  hasMoreHits: false,
  sizes: [],
}
const ids = (sessions: Session[]) => sessions.map(({ id }) => id)

test("places are counted by their kind, titles among them", () => {
  assert.deepEqual(countPlaces(page, "tea"), { said: 2, returned: 1, titled: 2 })
})

test("a place leaves the sessions that have the words there", () => {
  assert.deepEqual(ids(sessionsWith(page, "tea", "")), ["a", "b", "c"])
  assert.deepEqual(ids(sessionsWith(page, "tea", "said")), ["a", "b"])
  assert.deepEqual(ids(sessionsWith(page, "tea", "returned")), ["b"])
  assert.deepEqual(ids(sessionsWith(page, "tea", "titled")), ["a", "c"])
})

test("the newest passage of a place is shown", () => {
  assert.equal(hitOf(page, "b", "")?.messageId, "3")
  assert.equal(hitOf(page, "b", "said")?.messageId, "2")
  assert.equal(hitOf(page, "c", ""), undefined)
})
