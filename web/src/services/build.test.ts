import assert from "node:assert/strict"
import { test } from "node:test"

import { MAX_FAILURES, PartLoader } from "./build.ts"

/** A server that is asked for a part: what it is at each attempt, the last for ever. */
function serverOf(...states: ("away" | "another" | "upgraded" | "broken" | "there")[]) {
  let attempt = 0
  const told: string[] = []
  const state = () => states[Math.min(attempt, states.length - 1)]
  const loader = new PartLoader({
    trustServer: async () => {
      if (state() === "away" || state() === "another") throw new Error("not ours")
    },
    doubtServer: () => told.push("doubted"),
    isSameBuild: async () => (state() === "away" || state() === "another" ? null : state() !== "upgraded"),
    onOtherBuild: () => told.push("outdated"),
    wait: async () => void attempt++,
  })
  const load = async () => {
    told.push("asked")
    if (state() !== "there") throw new TypeError("Failed to fetch dynamically imported module")
    return "the part"
  }
  return { told, loading: () => loader.load(load) }
}

test("a part comes when the server is back, and is asked of no other server meanwhile", async () => {
  const { told, loading } = serverOf("away", "another", "away", "there")
  assert.equal(await loading(), "the part")
  assert.deepEqual(told, ["doubted", "doubted", "doubted", "asked"])
})

test("of a server with another build no part is asked again, and the person is told", async () => {
  const { told, loading } = serverOf("upgraded")
  const first = await Promise.race([loading(), new Promise((resolve) => setTimeout(resolve, 50, "nothing"))])
  assert.equal(first, "nothing")
  assert.deepEqual(told, ["asked", "doubted", "outdated"])
})

test("a part that the right server does not give is given up", async () => {
  const { told, loading } = serverOf("broken")
  await assert.rejects(loading(), /Failed to fetch/)
  assert.equal(told.filter((one) => one === "asked").length, MAX_FAILURES)
})
