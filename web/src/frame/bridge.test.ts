import assert from "node:assert/strict"
import { test } from "node:test"

import { Bridge, MAX_NOTICES, MAX_PENDING_CALLS, type PageHost } from "./bridge.ts"

const PAGE = { html: "<p>hi</p>", isAwaited: false, toolInput: { prompt: "?" }, toolResult: { content: [] } }

/** A bridge, and what a page at the other end of its port sees. */
function open(overrides: Partial<PageHost> = {}, page = PAGE) {
  const { port1, port2 } = new MessageChannel()
  const seen: unknown[] = []
  const record =
    (name: string, value?: unknown) =>
    (...args: unknown[]) => {
      seen.push([name, ...args])
      return value as never
    }
  const host: PageHost = {
    callTool: record("callTool", Promise.resolve({ content: [{ type: "text", text: "ok" }] })),
    readResource: record("readResource", Promise.resolve({ contents: [{ uri: "file:///a", blob: "YQ==" }] })),
    sendMessage: record("sendMessage", Promise.resolve()),
    openLink: record("openLink", Promise.resolve(true)),
    saveFile: record("saveFile"),
    notify: record("notify"),
    resize: record("resize"),
    showAs: record("showAs", "fullscreen"),
    ready: record("ready"),
    stopped: record("stopped"),
    missed: record("missed"),
    ...overrides,
  }
  const bridge = new Bridge(port1, page, host, { theme: "dark" }, "1.0")
  const received: Record<string, unknown>[] = []
  let wake = () => {}
  port2.onmessage = ({ data }) => {
    received.push(data as Record<string, unknown>)
    wake()
  }
  const take = async () => {
    while (received.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    return received.shift()!
  }
  const send = (message: object) => port2.postMessage(message)
  const ask = async (method: string, params: object = {}) => {
    send({ jsonrpc: "2.0", id: 1, method, params })
    return take()
  }
  /** Everything that was sent before has been handled once this is answered. */
  const settle = () => ask("ping")
  return { bridge, seen, send, ask, take, settle, end: () => port2.close() }
}

test("the proxy gets the page, and the page its input and result, once, after it is initialized", async () => {
  const page = open()
  page.send({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready" })
  assert.deepEqual(await page.take(), {
    jsonrpc: "2.0",
    method: "ui/notifications/sandbox-resource-ready",
    params: { html: "<p>hi</p>" },
  })
  const { result } = await page.ask("ui/initialize")
  assert.deepEqual((result as { hostContext: unknown }).hostContext, { theme: "dark" })
  page.send({ jsonrpc: "2.0", method: "ui/notifications/initialized" })
  page.send({ jsonrpc: "2.0", method: "ui/notifications/initialized" })
  assert.deepEqual((await page.take()).params, { arguments: { prompt: "?" } })
  assert.deepEqual((await page.take()).params, { content: [] })
  await page.settle()
  assert.deepEqual(page.seen, [["ready"]])
  page.end()
})

test("a theme that changes while a page starts is told once it has started, and later ones at once", async () => {
  const page = open()
  page.bridge.changeContext({ theme: "light" })
  const { result } = await page.ask("ui/initialize")
  assert.deepEqual((result as { hostContext: unknown }).hostContext, { theme: "light" })
  page.bridge.changeContext({ theme: "dark" })
  page.send({ jsonrpc: "2.0", method: "ui/notifications/initialized" })
  assert.deepEqual((await page.take()).params, { theme: "dark" })
  await page.take()
  await page.take()
  page.bridge.changeContext({ locale: "ko" })
  assert.deepEqual((await page.take()).params, { locale: "ko" })
  page.end()
})

test("a call goes to the host and its result to the page", async () => {
  const page = open()
  const { result } = await page.ask("tools/call", { name: "reply_prompt", arguments: { answer: "PDF" } })
  assert.deepEqual(result, { content: [{ type: "text", text: "ok" }] })
  assert.deepEqual(page.seen, [["callTool", "reply_prompt", { answer: "PDF" }]])
  page.end()
})

test("a refusal of the server becomes an error for the page", async () => {
  const page = open({ callTool: () => Promise.reject(new Error("This page may not call it.")) })
  assert.deepEqual((await page.ask("tools/call", { name: "delete_file" })).error, {
    code: -32000,
    message: "This page may not call it.",
  })
  page.end()
})

test("what is no call, no address of the web and no text is refused, and reaches nobody", async () => {
  const page = open()
  const bad: [string, object][] = [
    ["tools/call", {}],
    ["tools/call", { name: 7 }],
    ["tools/call", { name: "x", arguments: [1] }],
    ["ui/message", { content: [{ type: "image" }] }],
    ["ui/open-link", { url: "javascript:alert(1)" }],
    ["ui/open-link", { url: "data:text/html,x" }],
    ["ui/open-link", { url: "file:///etc/passwd" }],
    ["ui/download-file", { contents: [] }],
    ["sampling/createMessage", {}],
  ]
  for (const [method, params] of bad) assert.ok("error" in (await page.ask(method, params)), method)
  for (const junk of [null, 1, "x", [], {}, { jsonrpc: "2.0" }, { jsonrpc: "1.0", method: "ping", id: 1 }])
    page.send(junk as object)
  await page.settle()
  assert.deepEqual(page.seen, [])
  page.end()
})

test("a message is taken as one block and as a list", async () => {
  const page = open()
  await page.ask("ui/message", {
    role: "user",
    content: [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ],
  })
  await page.ask("ui/message", { role: "user", content: { type: "text", text: "c" } })
  assert.deepEqual(page.seen, [
    ["sendMessage", "a\nb"],
    ["sendMessage", "c"],
  ])
  page.end()
})

test("a file is saved under the last part of its address, from text or from base64", async () => {
  const page = open()
  const contents = [
    {
      type: "resource",
      resource: { uri: "madang://x/%EB%B3%B4%EA%B3%A0.md?v=1", mimeType: "text/markdown", text: "# 보고" },
    },
    { type: "resource", resource: { uri: "a.bin", blob: "AAE=" } },
  ]
  await page.ask("ui/download-file", { contents })
  assert.deepEqual(page.seen, [
    ["saveFile", "보고.md", "text/markdown", new TextEncoder().encode("# 보고")],
    ["saveFile", "a.bin", "application/octet-stream", new Uint8Array([0, 1])],
  ])
  page.end()
})

test("a page that calls without end is held back", async () => {
  const page = open({ callTool: () => new Promise(() => {}) })
  for (let id = 10; id < 10 + MAX_PENDING_CALLS; id++)
    page.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "x" } })
  assert.ok("error" in (await page.ask("tools/call", { name: "x" })))
  page.end()
})

test("sizes are taken in both dialects, and only if they are numbers", async () => {
  const page = open()
  page.send({ jsonrpc: "2.0", method: "ui/notifications/size-changed", params: { height: 120 } })
  page.send({ type: "ui-size-change", payload: { height: 130 } })
  for (const height of [-1, Number.NaN, Infinity, "9", null]) page.send({ type: "ui-size-change", payload: { height } })
  await page.settle()
  assert.deepEqual(page.seen, [
    ["resize", 120],
    ["resize", 130],
  ])
  page.end()
})

test("older messages: tool calls, prompt and intent speak, link opens, notify shows", async () => {
  const page = open()
  page.send({ type: "tool", messageId: "m1", payload: { toolName: "grep", params: { pattern: "x" } } })
  assert.deepEqual(await page.take(), {
    type: "ui-message-response",
    messageId: "m1",
    payload: { messageId: "m1", response: { content: [{ type: "text", text: "ok" }] } },
  })
  page.send({ type: "prompt", payload: { prompt: "hello" } })
  page.send({ type: "intent", payload: { intent: "buy", params: { id: 1 } } })
  page.send({ type: "link", payload: { url: "https://example.com" } })
  page.send({ type: "link", messageId: "m2", payload: { url: "javascript:1" } })
  page.send({ type: "notify", payload: { message: "done" } })
  page.send({ type: "unknown", payload: {} })
  assert.equal((await page.take()).messageId, "m2")
  await page.settle()
  assert.deepEqual(page.seen, [
    ["callTool", "grep", { pattern: "x" }],
    ["sendMessage", "hello"],
    ["sendMessage", 'buy {"id":1}'],
    ["openLink", "https://example.com/"],
    ["notify", "done"],
  ])
  page.end()
})

test("a page shows no more notices than can be read", async () => {
  const page = open()
  for (let count = 0; count < 20; count++) page.send({ type: "notify", payload: { message: "x".repeat(1_000) } })
  await page.settle()
  assert.equal(page.seen.length, MAX_NOTICES)
  assert.ok((page.seen as string[][]).every(([, text]) => text!.length < 1_000))
  page.end()
})

test("a page that a run waits for may not speak for the person in the older messages either", async () => {
  const page = open({}, { ...PAGE, isAwaited: true })
  page.send({ type: "prompt", payload: { prompt: "hello" } })
  page.send({ type: "intent", messageId: "m1", payload: { intent: "buy" } })
  assert.equal((await page.take()).messageId, "m1")
  await page.settle()
  assert.deepEqual(page.seen, [])
  page.end()
})

test("the host hears that the proxy took the page down", async () => {
  const page = open()
  page.send({ jsonrpc: "2.0", method: "ui/notifications/sandbox-stopped" })
  await page.settle()
  assert.deepEqual(page.seen, [["stopped"]])
  page.end()
})

test("closing lets the page finish, and does not wait for one that does not answer", async () => {
  const page = open()
  page.send({ jsonrpc: "2.0", method: "ui/notifications/initialized" })
  await page.take()
  await page.take()
  const closing = page.bridge.close()
  const request = await page.take()
  assert.equal(request.method, "ui/resource-teardown")
  page.send({ jsonrpc: "2.0", id: request.id, result: {} })
  await closing
  const silent = open()
  silent.send({ jsonrpc: "2.0", method: "ui/notifications/initialized" })
  await silent.take()
  await silent.bridge.close()
})

test("a page that a run waits for may not speak for the person: its answer wakes the run by itself", async () => {
  const page = open({}, { ...PAGE, isAwaited: true })
  const { result } = await page.ask("ui/initialize")
  assert.ok(!("message" in (result as { hostCapabilities: object }).hostCapabilities))
  assert.ok("error" in (await page.ask("ui/message", { role: "user", content: [{ type: "text", text: "answered" }] })))
  assert.deepEqual(page.seen, [])
  page.end()
})

test("a page reads what the host gives it", async () => {
  const page = open()
  const { result } = await page.ask("resources/read", { uri: "madang://export/1" })
  assert.deepEqual(result, { contents: [{ uri: "file:///a", blob: "YQ==" }] })
  assert.deepEqual(page.seen, [["readResource", "madang://export/1"]])
  const { error } = await page.ask("resources/read", { uri: 7 })
  assert.equal((error as { code: number }).code, -32602)
  page.end()
})

test("a result that comes before the page is ready is its first one", async () => {
  const page = open()
  page.bridge.sendResult({ content: [{ type: "text", text: "withdrawn" }] })
  page.send({ jsonrpc: "2.0", method: "ui/notifications/initialized" })
  await page.take() // its input
  assert.deepEqual((await page.take()).params, { content: [{ type: "text", text: "withdrawn" }] })
  page.end()
})

test("a press that the browser gave to a frame is the page's, and one that it does not take is told", async () => {
  const page = open()
  page.bridge.press(1, 2)
  assert.deepEqual(page.seen, [["missed"]]) // there is no page yet
  page.send({ jsonrpc: "2.0", method: "ui/notifications/initialized" })
  await page.take()
  await page.take()
  page.bridge.press(3, 4)
  const first = await page.take()
  assert.deepEqual([first.method, first.params], ["madang/press", { x: 3, y: 4 }])
  page.send({ jsonrpc: "2.0", id: first.id, result: {} })
  page.send({ jsonrpc: "2.0", method: "ui/notifications/sandbox-pressed", params: { x: 5, y: 6 } })
  const second = await page.take()
  assert.deepEqual([second.method, second.params], ["madang/press", { x: 5, y: 6 }])
  page.send({ jsonrpc: "2.0", id: second.id, error: { code: -32601, message: "Method not found" } })
  await page.settle()
  assert.deepEqual(page.seen, [["missed"], ["ready"], ["missed"]])
  page.end()
})

test("a call in the older messages is confirmed to a page that has asked for the newer ones", async () => {
  const page = open()
  await page.ask("ui/initialize")
  page.send({ type: "tool", messageId: "2", payload: { toolName: "grep" } })
  assert.deepEqual(await page.take(), { type: "ui-message-received", messageId: "2" })
  assert.equal((await page.take()).type, "ui-message-response")
  page.end()
})
