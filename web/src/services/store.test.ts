import assert from "node:assert/strict"
import { test } from "node:test"

import { keepFields, Store } from "./store.ts"

test("a change of one field leaves what is read of the others as it was", () => {
  const store = new Store({ inbox: ["a"], notices: 0 })
  const before = store.get()

  store.update({ notices: 1 })

  assert.equal(keepFields(before, store.get(), ["inbox"]), before)
  assert.equal(keepFields(before, store.get(), ["inbox", "notices"]), store.get())
})

test("an equal value that is another one counts as a change", () => {
  // The same address again is a new route: what it names is to be shown again.
  const before = { route: { screen: "sessions" } }
  const now = { route: { screen: "sessions" } }

  assert.equal(keepFields(before, now, ["route"]), now)
})

test("nothing was read before the first time", () => {
  const now = { inbox: [] }

  assert.equal(keepFields(null, now, ["inbox"]), now)
})

test("who subscribes is told of changes, and not of the same value", () => {
  const store = new Store({ count: 0 })
  let calls = 0
  const stop = store.subscribe(() => calls++)

  store.update({ count: 1 })
  store.set(store.get())
  stop()
  store.update({ count: 2 })

  assert.equal(calls, 1)
})
