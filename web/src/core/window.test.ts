import assert from "node:assert/strict"
import { test } from "node:test"

import { AT_END, boundsOf, FIRST_ITEMS, MAX_ITEMS, showItem, showNewer, showOlder, trim } from "./window.ts"

const list = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ id: `i${from + index}` }))

test("a talk opens with its newest items", () => {
  assert.deepEqual(boundsOf(list(0, 500), AT_END), { start: 500 - FIRST_ITEMS, end: 500 })
  assert.deepEqual(boundsOf(list(0, 5), AT_END), { start: 0, end: 5 })
})

test("scrolling up never mounts more than the limit, and lets go of the newest", () => {
  const items = list(0, 1000)
  let window = AT_END
  for (let step = 0; step < 100; step++) {
    window = showOlder(items, window)
    const { start, end } = boundsOf(items, window)
    assert.ok(end - start <= MAX_ITEMS)
  }
  assert.deepEqual(boundsOf(items, window), { start: 0, end: MAX_ITEMS })
})

test("scrolling down again ends where it began, and follows the end", () => {
  const items = list(0, 1000)
  let window = AT_END
  for (let step = 0; step < 20; step++) window = showOlder(items, window)
  assert.notEqual(window.to, "")
  for (let step = 0; step < 60; step++) window = showNewer(items, window)
  assert.equal(window.to, "")
  const { start, end } = boundsOf([...items, { id: "new" }], window)
  assert.equal(end, 1001)
  assert.ok(end - start <= MAX_ITEMS + 1)
})

test("items put in front, or added at the end, move nothing", () => {
  const items = list(100, 400)
  const window = showOlder(items, showOlder(items, AT_END))
  const before = boundsOf(items, window)
  const after = boundsOf([...list(0, 100), ...items, { id: "new" }], window)
  assert.equal(after.start, before.start + 100)
})

test("what follows the end is let go at the far end once it is too much", () => {
  const items = list(0, 100)
  const window = showOlder(items, AT_END)
  assert.equal(trim(items, window), window)
  const grown = list(0, 100 + MAX_ITEMS)
  const { start, end } = boundsOf(grown, trim(grown, window))
  assert.equal(end - start, FIRST_ITEMS)
})

test("an item can be shown from anywhere", () => {
  const items = list(0, 1000)
  const window = showItem(items, "i3")!
  const { start, end } = boundsOf(items, window)
  assert.ok(start <= 3 && 3 < end && end < 1000)
  assert.equal(showItem(items, "nowhere"), null)
})
