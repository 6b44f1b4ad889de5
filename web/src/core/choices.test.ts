import assert from "node:assert/strict"
import { test } from "node:test"

import type { Me, Session } from "../wire/types.ts"
import { isManual, modelOf, nextAssistant } from "./choices.ts"

const me = {
  model: "usual",
  isModelFixed: false,
  assistantId: "default",
  assistants: [
    { id: "Baker", name: "Baker", model: "own" },
    { id: "default", name: "", model: "" },
  ],
} as unknown as Me
const shared = { me, nextAssistantId: "", madeSessionId: "", sessions: [], opened: null }

test("where no assistant was chosen it is the server's default one, not the first of the list", () => {
  assert.deepEqual(nextAssistant(shared), { id: "default", isSettled: false })
  assert.equal(nextAssistant({ ...shared, nextAssistantId: "Baker" }).id, "Baker")
  assert.equal(nextAssistant({ ...shared, nextAssistantId: "deleted" }).id, "default")
  assert.equal(nextAssistant({ ...shared, me: null }).id, "")
})

test("a session that files have made keeps its assistant", () => {
  const sessions = [{ id: "s", assistantId: "Baker" }] as unknown as Session[]
  assert.deepEqual(nextAssistant({ ...shared, sessions, madeSessionId: "s" }), { id: "Baker", isSettled: true })
  assert.equal(nextAssistant({ ...shared, sessions, madeSessionId: "gone" }).id, "default")
})

test("an assistant's own model comes before the default one, and a fixed one before both", () => {
  assert.equal(modelOf(me, "default"), "usual")
  assert.equal(modelOf(me, "Baker"), "own")
  assert.equal(modelOf({ ...me, isModelFixed: true, model: "fixed" }, "Baker"), "fixed")
  assert.equal(modelOf({ ...me, model: "" }, "default"), "")
  assert.equal(modelOf(null, "default"), "")
})

test("the person is the model where neither the host nor the assistant has one", () => {
  const me = {
    model: "",
    assistants: [
      { id: "a", name: "", model: "" },
      { id: "b", name: "", model: "qwen3" },
    ],
  }
  const at = (assistantId: string) => ({ assistantId }) as Session
  assert.ok(isManual(me as Me, at("a")))
  assert.ok(!isManual(me as Me, at("b")))
  assert.ok(!isManual({ ...me, model: "qwen3" } as Me, at("a")))
  assert.ok(!isManual(null, at("a")))
})
