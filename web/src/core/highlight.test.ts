import assert from "node:assert/strict"
import { test } from "node:test"

import { highlight } from "./highlight.ts"

test("comments, strings, numbers and keywords are told apart", () => {
  assert.deepEqual(highlight('def f(x):  # "no"\n    return "#1" + 2', "python"), [
    ["keyword", "def"],
    ["", " f(x):  "],
    ["comment", '# "no"'],
    ["", "\n    "],
    ["keyword", "return"],
    ["", " "],
    ["string", '"#1"'],
    ["", " + "],
    ["number", "2"],
  ])
})

test("the tokens are the code again, whatever it is and wherever it ends", () => {
  const code = "const a = `x ${'y'}` // 끝\n/* open 'string \" \\ 0x1f"
  for (const language of ["ts", "python", "sql", "bash", "json", "yaml", "klingon"]) {
    for (let length = 0; length <= code.length; length++) {
      const part = code.slice(0, length)
      assert.equal(
        highlight(part, language)
          .map(([, text]) => text)
          .join(""),
        part,
      )
    }
  }
})

test("a language that is not known stays plain", () => {
  assert.deepEqual(highlight("if true", "klingon"), [["", "if true"]])
})

test("code that is made to be slow is not", () => {
  for (const piece of ['"\\', "/*", "'''", "`\\", "a$"]) {
    for (const language of ["js", "py"]) {
      const code = piece.repeat(20_000 / piece.length)
      assert.equal(
        highlight(code, language)
          .map(([, text]) => text)
          .join("").length,
        code.length,
      )
    }
  }
})
