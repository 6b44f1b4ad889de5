import assert from "node:assert/strict"
import { test } from "node:test"

Object.defineProperty(globalThis, "navigator", { value: { language: "en", platform: "" } })
const { formatLeft } = await import("./language.tsx")

const NOW = Date.parse("2026-01-01T00:00:00Z")
const left = (seconds: number, locale: "en" | "ko" = "en") =>
  formatLeft(new Date(NOW + seconds * 1000).toISOString(), locale, NOW)

test("a time that has just begun is told whole", () => {
  assert.equal(left(7 * 86_400 - 5), "7 days")
  assert.equal(left(7 * 86_400 - 5, "ko"), "7일")
  assert.equal(left(3_600 - 2), "1 hour")
  assert.equal(left(86_400 - 60), "1 day")
})

test("what is left is told in its largest unit, and never as none", () => {
  assert.equal(left(5 * 3_600 + 60), "5 hours")
  assert.equal(left(20), "1 minute")
  assert.equal(left(-1), "")
  assert.equal(left(0), "")
})
