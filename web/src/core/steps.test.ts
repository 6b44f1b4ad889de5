import assert from "node:assert/strict"
import { test } from "node:test"

import type { Todo } from "../wire/types.ts"
import { stepStates } from "./steps.ts"

let id = 0
const todo = (name: string, status: Todo["status"] = "pending"): Todo => ({ id: ++id, name, status, summary: "" })

test("steps are as far as the todos that repeat their words", () => {
  const todos = [todo("병합된 변경 모으기", "completed"), todo("2. Sort  them by kind."), todo("Something else")]
  assert.deepEqual(stepStates(["병합된 변경 모으기", "Sort them by kind", "Write"], todos), ["done", "now", "open"])
})

test("without a todo of any step nobody knows", () => {
  assert.equal(stepStates(["Boil water", "Pour"], [todo("Buy tea")]), null)
  assert.equal(stepStates([], [todo("Buy tea")]), null)
  assert.equal(stepStates(["…"], []), null)
})

test("of a playbook that is run again the last todos count", () => {
  const steps = ["Boil water", "Pour"]
  const first = [todo("Boil water", "completed"), todo("Pour", "completed")]
  assert.deepEqual(stepStates(steps, first), ["done", "done"])
  assert.deepEqual(stepStates(steps, [...first, todo("Boil water"), todo("Pour")]), ["now", "open"])
})

test("two steps with the same words have a todo each", () => {
  assert.deepEqual(stepStates(["Look", "Look"], [todo("Look", "completed"), todo("look")]), ["now", "done"])
  assert.deepEqual(stepStates(["Look", "Look"], [todo("Look", "completed")]), ["done", "open"])
})
