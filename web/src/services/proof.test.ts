import assert from "node:assert/strict"
import { test } from "node:test"

import { proofOf, ServerTrust } from "./proof.ts"

const TOKEN = "a token"
const ORIGIN = "http://127.0.0.1:8321"

const nonceIn = (path: string) => new URL(path, ORIGIN).searchParams.get("nonce") ?? ""
const answer = (proof: unknown) => new Response(JSON.stringify({ proof }))

/** What a tab thinks of a server that has this token and this origin, and how often it asked. */
function tabOf(token: string, origin = ORIGIN) {
  const paths: string[] = []
  const trust = new ServerTrust(ORIGIN, async (path) => {
    paths.push(path)
    return answer(await proofOf(token, origin, nonceIn(path)))
  })
  return { trust, paths }
}

test("the proof is the one that the server makes", async () => {
  // As madang.host.launch.server_proof says.
  const proof = await proofOf("마당-token", ORIGIN, "n".repeat(16))
  assert.equal(proof, "a8f129ba4924ad6b9e36e927dce40b0b7d34507f25da4db47e82c0a4fb5549ee")
})

test("a server that was not lost is not asked, and one that was is asked once by all", async () => {
  const { trust, paths } = tabOf(TOKEN)
  assert.equal(await trust.judge(TOKEN), "ours")
  assert.deepEqual(paths, [])
  trust.doubt()
  assert.deepEqual(await Promise.all([trust.judge(TOKEN), trust.judge(TOKEN)]), ["ours", "ours"])
  assert.equal(await trust.judge(TOKEN), "ours")
  assert.equal(paths.length, 1)
  trust.doubt()
  await trust.judge(TOKEN)
  assert.notEqual(paths[0], paths[1], "each nonce is a new one")
})

test("a server with another token, and one that passes on what another port said, is another", async () => {
  for (const { trust } of [tabOf("another token"), tabOf(TOKEN, "http://127.0.0.1:9999")]) {
    trust.doubt()
    assert.equal(await trust.judge(TOKEN), "another")
    assert.equal(await trust.judge(TOKEN), "another")
  }
})

test("whatever else answers, or does not, is not reached", async () => {
  const answers = [
    () => Promise.reject(new TypeError("refused")),
    () => Promise.resolve(new Response("<html>")),
    () => Promise.resolve(new Response("null")),
    () => Promise.resolve(new Response("[]")),
    () => Promise.resolve(new Response("{}", { status: 404 })),
  ]
  for (const ask of answers) {
    const trust = new ServerTrust(ORIGIN, ask)
    trust.doubt()
    assert.equal(await trust.judge(TOKEN), "unreachable")
  }
  const trust = new ServerTrust(ORIGIN, () => Promise.resolve(answer(null)))
  trust.doubt()
  assert.equal(await trust.judge(TOKEN), "another")
})

test("a proof from before a doubt does not count after it", async () => {
  const answers = [async (path: string) => answer(await proofOf(TOKEN, ORIGIN, nonceIn(path))), async () => answer("")]
  const trust: ServerTrust = new ServerTrust(ORIGIN, async (path) => {
    const said = await answers.shift()!(path)
    if (answers.length > 0) trust.doubt()
    return said
  })
  trust.doubt()
  assert.equal(await trust.judge(TOKEN), "another")
})
