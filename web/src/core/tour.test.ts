import assert from "node:assert/strict"
import { test } from "node:test"

import { addResult, addTurn, answerOf, callsOfStep, currentStep, isTourOver, NEW_TOUR, STEP_COUNT } from "./tour.ts"

const OUTCOME = { text: "ok", data: {}, isError: false, tookMs: 1, view: null, pauseId: "p" }

test("a step is done when its call is, the question when it is answered", () => {
  let tour = NEW_TOUR
  assert.equal(currentStep(tour), 0)
  tour = addResult(addResult(tour, "create_playbook", OUTCOME), "show_playbooks", OUTCOME)
  assert.equal(currentStep(tour), 2)
  tour = addResult(tour, "prompt_user", OUTCOME)
  assert.equal(currentStep(tour), 2)
  tour = { ...tour, answer: "46주" }
  assert.equal(currentStep(tour), 3)
  tour = addResult(addResult(tour, "visualize_data", OUTCOME), "export_file", OUTCOME)
  assert.ok(isTourOver(tour))
})

test("a step that was the model's turn is kept by its id", () => {
  const tour = addTurn(NEW_TOUR, "create_playbook", "manual-1")
  assert.equal(currentStep(tour), 1)
  assert.deepEqual(tour.results, [{ callId: "manual-1", tool: "create_playbook", text: "", viewId: "", pauseId: "" }])
})

test("every step is a call in the person's language, and the last two use the answer", () => {
  for (let step = 0; step < STEP_COUNT; step++) {
    assert.ok(callsOfStep(step, "en", "").length > 0)
    assert.doesNotMatch(JSON.stringify(callsOfStep(step, "en", "A")), /[가-힣]/)
  }
  assert.equal(callsOfStep(3, "ko", "46주 보고서")[0]!.arguments.title, "46주 보고서")
  const [written, exported] = callsOfStep(4, "ko", "46주/보고서?")
  assert.equal(written!.arguments.path, "46주보고서.md")
  assert.equal(exported!.arguments.path, written!.arguments.path)
  assert.equal(callsOfStep(4, "en", "../..")[0]!.arguments.path, ".....md")
})

test("a question is over when it is answered, declined or expired", () => {
  assert.equal(answerOf({ status: "answered", answer: "파랑" }), "파랑")
  assert.equal(answerOf({ status: "cancelled" }), "")
  assert.equal(answerOf({ status: "pending" }), null)
  assert.equal(answerOf({}), null)
})
