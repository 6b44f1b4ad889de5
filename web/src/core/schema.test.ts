import assert from "node:assert/strict"
import { test } from "node:test"

import type { JsonSchema } from "../wire/types.ts"
import { argumentsOf, entriesOf, fieldsOf } from "./schema.ts"

const PROMPT: JsonSchema = {
  type: "object",
  properties: {
    options: { type: "array", items: { type: "string" } },
    prompt: { type: "string", minLength: 1, maxLength: 4000 },
    type: { type: "string", enum: ["text", "select", "multiselect"] },
    timeoutS: { type: "integer", default: 604800, minimum: 1, maximum: 2592000 },
    isLoud: { anyOf: [{ type: "boolean" }, { type: "null" }] },
    workflow: { type: "array", items: { $ref: "#/$defs/Step" } },
    tone: { $ref: "#/$defs/Tone", description: "How to say it" },
  },
  required: ["prompt", "type"],
  $defs: { Step: { type: "object" }, Tone: { type: "string", enum: ["calm", "merry"] } },
}

test("a form has the fields of the schema, required ones first", () => {
  assert.deepEqual(
    fieldsOf(PROMPT).map(({ name, kind, isRequired }) => [name, kind, isRequired]),
    [
      ["prompt", "text", true],
      ["type", "choice", true],
      ["options", "texts", false],
      ["timeoutS", "integer", false],
      ["isLoud", "boolean", false],
      ["workflow", "json", false],
      ["tone", "choice", false],
    ],
  )
  assert.deepEqual(fieldsOf(PROMPT).at(-1)?.options, ["calm", "merry"])
})

test("entries become arguments of their types, and empty ones are left out", () => {
  const { values, problems } = argumentsOf(fieldsOf(PROMPT), {
    prompt: "Which?",
    type: "select",
    options: ["PDF", "", "ZIP"],
    timeoutS: "60",
    isLoud: "false",
    workflow: '[{"description": "x"}]',
    tone: "",
  })
  assert.deepEqual(problems, {})
  assert.deepEqual(values, {
    prompt: "Which?",
    type: "select",
    options: ["PDF", "ZIP"],
    timeoutS: 60,
    isLoud: false,
    workflow: [{ description: "x" }],
  })
})

test("what cannot be an argument is told at its field", () => {
  const problems = (entries: Record<string, string>) =>
    argumentsOf(fieldsOf(PROMPT), { prompt: "a", type: "text", ...entries }).problems
  assert.deepEqual(problems({ prompt: "" }), { prompt: "required" })
  assert.deepEqual(problems({ timeoutS: "1.5" }), { timeoutS: "badNumber" })
  assert.deepEqual(problems({ timeoutS: "soon" }), { timeoutS: "badNumber" })
  assert.deepEqual(problems({ timeoutS: "0" }), { timeoutS: "between" })
  assert.deepEqual(problems({ workflow: "[" }), { workflow: "badJson" })
  assert.deepEqual(problems({ prompt: "가".repeat(4001) }), { prompt: "between" })
})

test("arguments go back into the form they came from", () => {
  const values = {
    prompt: "Which?",
    type: "select",
    options: ["a", "b"],
    timeoutS: 60,
    isLoud: true,
    workflow: [{ a: 1 }],
  }
  const fields = fieldsOf(PROMPT)
  assert.deepEqual(argumentsOf(fields, entriesOf(fields, values)).values, values)
})

test("a schema that refers to itself ends", () => {
  const schema: JsonSchema = { properties: { a: { $ref: "#/$defs/A" } }, $defs: { A: { $ref: "#/$defs/A" } } }
  assert.equal(fieldsOf(schema)[0]?.kind, "json")
})
