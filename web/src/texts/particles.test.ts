import assert from "node:assert/strict"
import { test } from "node:test"

import table from "./particles.json"
import { endingOf, particle, withParticles, type Particle } from "./particles.ts"

test("a text ends as it sounds", () => {
  for (const [ending, texts] of Object.entries(table)) {
    for (const text of texts) assert.equal(endingOf(text), ending, `“${text}”`)
  }
})

test("every particle has its form after each ending", () => {
  const names: Particle[] = ["은", "이", "을", "과", "으로", "이라"]
  const after = (word: string) => names.map((name) => particle(name, word)).join(" ")

  assert.equal(after("나무"), "는 가 를 와 로 라")
  assert.equal(after("연필"), "은 이 을 과 로 이라")
  assert.equal(after("책상"), "은 이 을 과 으로 이라")
})

test("a particle goes by what was filled in before it, and a value is never taken for one", () => {
  const fill = (part: string) => part.replace("{name}", "{을}")

  assert.equal(withParticles("“{name}”{이} 없음, 끝{으로}", fill), "“{을}”이 없음, 끝으로")
})
