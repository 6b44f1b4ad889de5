import assert from "node:assert/strict"
import { test } from "node:test"

import { isPlace, parseRoute, routeTo, type Route } from "./route.ts"

test("every place has an address that leads back to it", () => {
  const routes: Route[] = [
    { screen: "chat", sessionId: "" },
    { screen: "chat", sessionId: "세션/1 #?" },
    { screen: "chat", sessionId: "s1", messageId: "m/1" },
    { screen: "inbox", itemId: "" },
    { screen: "inbox", itemId: "p1" },
    { screen: "sessions" },
    { screen: "manual", tool: "prompt_user" },
    { screen: "chat", sessionId: "s1", file: "보고서/표 1.csv" },
    { screen: "chat", sessionId: "s1", playbook: "p 1" },
    { screen: "assistants", assistantId: "" },
    { screen: "assistants", assistantId: "편집자/2 #?" },
    { screen: "settings", tab: "" },
    { screen: "settings", tab: "data" },
  ]
  for (const route of routes) assert.deepEqual(parseRoute(routeTo(route)), route)
})

test("what is no address leads to the start", () => {
  for (const hash of ["", "#", "#/", "#/nowhere", "#/s/%E0%A4%A"]) {
    assert.deepEqual(parseRoute(hash), { screen: "chat", sessionId: "" })
  }
})

test("a launch address is no place, and neither is the start", () => {
  assert.equal(isPlace("#/s/1/m/2"), true)
  for (const hash of ["", "#", "#/", "#launch=abc"]) assert.equal(isPlace(hash), false, hash)
})
