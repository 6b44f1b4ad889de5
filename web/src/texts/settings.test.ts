import assert from "node:assert/strict"
import { test } from "node:test"

import { settingsSpeaker } from "./settings.ts"

test("words of settings are filled in, in either language", () => {
  assert.equal(settingsSpeaker("ko")("sessionsOf", { count: 3 }), "세션 3개")
  assert.equal(settingsSpeaker("en")("sessionsOf", { count: 1 }), "1 session")
  assert.equal(settingsSpeaker("en")("sessionsOf", { count: 0 }), "0 sessions")
  assert.equal(settingsSpeaker("en")("answered", { ms: 640 }), "It answered · 640 ms")
})
