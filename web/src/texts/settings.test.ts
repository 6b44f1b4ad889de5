import assert from "node:assert/strict"
import { test } from "node:test"

import { settingsSpeaker } from "./settings.ts"

test("words of settings are filled in, in either language", () => {
  assert.equal(settingsSpeaker("ko")("sessionsOf", { count: 3 }), "세션 3개")
  assert.equal(settingsSpeaker("en")("sessionsOf", { count: 1 }), "1 session")
  assert.equal(settingsSpeaker("en")("sessionsOf", { count: 0 }), "0 sessions")
  assert.equal(settingsSpeaker("en")("answered", { ms: 640 }), "It answered · 640 ms")
})

test("a particle goes by the sound of the value before it", () => {
  assert.equal(settingsSpeaker("ko")("deleteAssistantAsk", { name: "비서" }), "“비서”를 지울까요?")
  assert.equal(settingsSpeaker("ko")("deleteAssistantAsk", { name: "조교 2.0" }), "“조교 2.0”을 지울까요?")
})
