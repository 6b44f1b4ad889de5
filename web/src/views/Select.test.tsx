import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"

import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"

Object.defineProperty(globalThis, "navigator", { value: { language: "en", platform: "" } })
const { LocaleContext } = await import("./language.tsx")
const { Select } = await import("./Select.tsx")

const options = [
  { value: "a", label: "Anna" },
  { value: "b", label: "Berta" },
]

function draw(value: string, locale: "en" | "ko" = "en"): string {
  const select = createElement(Select, { value, options, onChange: () => undefined })
  return renderToStaticMarkup(createElement(LocaleContext.Provider, { value: locale }, select))
}

/** What a browser shows of it. */
const shown = (html: string) => /<option[^>]* selected=""[^>]*>([^<]*)</.exec(html)?.[1]

test("what is shown is the value", () => {
  assert.equal(shown(draw("b")), "Berta")
  assert.equal(draw("b").match(/<option/g)?.length, 2)
})

test("a value without an option is shown as nothing chosen, and is an error in development", (context) => {
  const errors = context.mock.method(console, "error", () => undefined)
  assert.equal(shown(draw("")), "Choose…")
  assert.equal(shown(draw("gone", "ko")), "고르기…")
  assert.equal(errors.mock.callCount(), 2)
  assert.match(String(errors.mock.calls[1]?.arguments[0]), /"gone"/)
})

test("no other file draws a select", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.tsx$/.test(name),
  )
  assert.ok(files.length > 50)
  const drawing = files.filter((name) => /<select\b/.test(readFileSync(`src/${name}`, "utf8")))
  assert.deepEqual(drawing, ["views/Select.tsx"])
})
