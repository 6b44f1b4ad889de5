/**
 * The host's side of MCP Apps (2026-01-26) over the one port of a page, and of the older mcp-ui messages.
 *
 * By hand instead of ext-apps' AppBridge: that brings an MCP client and zod, 147 KB gz, for the dozen messages below.
 * Everything that comes over the port was written by a page: each field is checked before it is used, and what a page
 * may do is decided by the server, by the grants of its view.
 */

import type { McpResult } from "../wire/types.ts"

export const PROTOCOL_VERSION = "2026-01-26"
/** More calls than this at a time is no person pressing buttons. */
export const MAX_PENDING_CALLS = 8
export const MAX_NOTICES = 3
const NOTICES_MS = 6_000
const MAX_NOTICE_CHARS = 300
const TEARDOWN_MS = 500

export type DisplayMode = "inline" | "fullscreen"

/** What a page can ask of the host around it. */
export interface PageHost {
  callTool(name: string, args: unknown): Promise<McpResult>
  /** What the page's own result links to, as MCP has it. */
  readResource(uri: string): Promise<{ contents: unknown[] }>
  /** A message in the person's name. */
  sendMessage(text: string): Promise<void>
  /** Whether the person agreed. */
  openLink(url: string): Promise<boolean>
  saveFile(name: string, type: string, bytes: Uint8Array): void | Promise<void>
  notify(text: string): void
  resize(height: number): void
  showAs(mode: DisplayMode): DisplayMode
  /** The page runs and has its data. */
  ready(): void
  /** The proxy took the page down: it did more than it may. */
  stopped(): void
  /** A press that was meant for the page did not come to it. */
  missed(): void
}

export interface PageData {
  html: string
  /** The run that waits for this page goes on by itself: a message that says so beside it would be told twice. */
  isAwaited: boolean
  toolInput: Record<string, unknown>
  toolResult: McpResult
}

type Json = Record<string, unknown>

const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const FAILED = -32000

class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message)
  }
}

export class Bridge {
  #isIntroduced = false
  #isReady = false
  /** What changed between the page's first question and its being ready. */
  #lateContext: Json | null = null
  #result: McpResult
  #pendingCalls = 0
  #lastId = 0
  #noticesAt: number[] = []
  readonly #answers = new Map<number, (isError: boolean) => void>()

  constructor(
    private readonly port: MessagePort,
    private readonly page: PageData,
    private readonly host: PageHost,
    private context: Json,
    private readonly version: string,
  ) {
    this.#result = page.toolResult
    port.onmessage = ({ data }: MessageEvent<unknown>) => this.#receive(data)
  }

  /** Tell the page what changed around it: theme, language, size. */
  changeContext(change: Json): void {
    this.context = { ...this.context, ...change }
    if (this.#isReady) this.#notify("ui/notifications/host-context-changed", change)
    else this.#lateContext = { ...this.#lateContext, ...change }
  }

  /** A newer result of the call whose page this is: a question that was answered, for example. */
  sendResult(result: McpResult): void {
    this.#result = result
    if (this.#isReady) this.#notify("ui/notifications/tool-result", result)
  }

  /** Press what is at a place in the page, for a browser that gave the press to a frame around it. */
  press(x: number, y: number): void {
    if (this.#isReady) this.#ask("madang/press", { x, y }, (isError) => isError && this.host.missed())
    else this.host.missed()
  }

  /** Let the page finish what it does, briefly, and close the port. */
  async close(): Promise<void> {
    if (this.#isReady) {
      await new Promise<void>((resolve) => {
        setTimeout(resolve, TEARDOWN_MS)
        this.#ask("ui/resource-teardown", {}, () => resolve())
      })
    }
    this.port.close()
  }

  #ask(method: string, params: Json, onAnswer: (isError: boolean) => void): void {
    const id = ++this.#lastId
    this.#answers.set(id, onAnswer)
    this.port.postMessage({ jsonrpc: "2.0", id, method, params })
  }

  #receive(data: unknown): void {
    if (!isObject(data)) return
    if (data.jsonrpc !== "2.0") {
      if (typeof data.type === "string") void this.#receiveOld(data.type, data)
      return
    }
    const { id, method } = data
    const params = isObject(data.params) ? data.params : {}
    if (typeof method !== "string") {
      if (typeof id === "number") this.#settle(id, "error" in data)
    } else if (typeof id === "number" || typeof id === "string") {
      void this.#answer(id, method, params)
    } else {
      this.#hear(method, params)
    }
  }

  async #answer(id: number | string, method: string, params: Json): Promise<void> {
    try {
      this.port.postMessage({ jsonrpc: "2.0", id, result: await this.#request(method, params) })
    } catch (error) {
      const code = error instanceof RpcError ? error.code : FAILED
      const message = error instanceof Error ? error.message : String(error)
      this.port.postMessage({ jsonrpc: "2.0", id, error: { code, message } })
    }
  }

  async #request(method: string, params: Json): Promise<Json> {
    switch (method) {
      case "ui/initialize":
        this.#isIntroduced = true
        this.#lateContext = null // all of it is in this answer
        return {
          protocolVersion: PROTOCOL_VERSION,
          hostInfo: { name: "madang", version: this.version },
          hostCapabilities: {
            openLinks: {},
            downloadFile: {},
            serverTools: {},
            serverResources: {},
            logging: {},
            ...(this.page.isAwaited ? {} : { message: { text: {} } }),
          },
          hostContext: this.context,
        }
      case "ping":
        return {}
      case "tools/call":
        return this.#callTool(textOf(params, "name"), params.arguments)
      case "resources/read":
        return this.host.readResource(textOf(params, "uri"))
      case "ui/message":
        await this.#speak(textOfContent(params.content))
        return {}
      case "ui/open-link":
        return (await this.host.openLink(linkOf(params))) ? {} : { isError: true }
      case "ui/download-file":
        for (const file of filesOf(params.contents)) await this.host.saveFile(file.name, file.type, file.bytes)
        return {}
      case "ui/request-display-mode":
        return { mode: this.host.showAs(params.mode === "fullscreen" ? "fullscreen" : "inline") }
      default:
        throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`)
    }
  }

  #settle(id: number, isError: boolean): void {
    this.#answers.get(id)?.(isError)
    this.#answers.delete(id)
  }

  #hear(method: string, params: Json): void {
    switch (method) {
      case "ui/notifications/sandbox-proxy-ready":
        return this.#notify("ui/notifications/sandbox-resource-ready", { html: this.page.html })
      case "ui/notifications/sandbox-stopped":
        return this.host.stopped()
      case "ui/notifications/sandbox-pressed":
        return this.press(Number(params.x), Number(params.y))
      case "ui/notifications/initialized":
        if (this.#isReady) return
        this.#isReady = true
        if (this.#lateContext !== null) this.#notify("ui/notifications/host-context-changed", this.#lateContext)
        this.#notify("ui/notifications/tool-input", { arguments: this.page.toolInput })
        this.#notify("ui/notifications/tool-result", this.#result)
        return this.host.ready()
      case "ui/notifications/size-changed":
        return this.#resize(params.height)
    }
  }

  /** A notice, unless the page has said enough in the last seconds: they stand over what is the host's. */
  #show(text: string): void {
    const now = Date.now()
    this.#noticesAt = this.#noticesAt.filter((at) => now - at < NOTICES_MS)
    if (this.#noticesAt.length >= MAX_NOTICES) throw new RpcError(FAILED, "Too many notices at a time.")
    this.#noticesAt.push(now)
    this.host.notify(text.slice(0, MAX_NOTICE_CHARS))
  }

  async #speak(text: string): Promise<void> {
    if (this.page.isAwaited) throw new RpcError(METHOD_NOT_FOUND, "This page answers by calling its tool.")
    await this.host.sendMessage(text)
  }

  async #callTool(name: string, args: unknown): Promise<McpResult> {
    if (args !== undefined && !isObject(args)) throw new RpcError(INVALID_PARAMS, "arguments must be an object.")
    if (this.#pendingCalls >= MAX_PENDING_CALLS) throw new RpcError(FAILED, "Too many calls at a time.")
    this.#pendingCalls++
    try {
      return await this.host.callTool(name, args)
    } finally {
      this.#pendingCalls--
    }
  }

  /** The older mcp-ui messages, as their MCP Apps counterparts. */
  async #receiveOld(type: string, data: Json): Promise<void> {
    const payload = isObject(data.payload) ? data.payload : {}
    try {
      switch (type) {
        case "tool":
          // A page that has asked in both ways would take the answer to the other one for none to this.
          if (this.#isIntroduced) this.port.postMessage({ type: "ui-message-received", messageId: data.messageId })
          return this.#answerOld(data, await this.#callTool(textOf(payload, "toolName"), payload.params))
        case "prompt":
          await this.#speak(textOf(payload, "prompt"))
          return this.#answerOld(data, {})
        case "intent":
          await this.#speak(`${textOf(payload, "intent")} ${JSON.stringify(payload.params ?? {})}`)
          return this.#answerOld(data, {})
        case "link":
          await this.host.openLink(linkOf(payload))
          return this.#answerOld(data, {})
        case "notify":
          this.#show(textOf(payload, "message"))
          return this.#answerOld(data, {})
        case "ui-size-change":
          return this.#resize(payload.height)
        case "ui-lifecycle-iframe-ready":
        case "ui-request-render-data":
          this.port.postMessage({
            type: "ui-lifecycle-iframe-render-data",
            ...(typeof data.messageId === "string" && { messageId: data.messageId }),
            payload: {
              renderData: { toolInput: this.page.toolInput, toolOutput: this.#result, ...this.context },
            },
          })
          if (!this.#isReady) this.host.ready()
      }
    } catch (error) {
      this.#answerOld(data, undefined, error instanceof Error ? error.message : String(error))
    }
  }

  #answerOld(data: Json, response: unknown, error?: string): void {
    if (typeof data.messageId !== "string") return
    const payload = {
      messageId: data.messageId,
      ...(error === undefined ? { response } : { error: { message: error } }),
    }
    this.port.postMessage({ type: "ui-message-response", messageId: data.messageId, payload })
  }

  #resize(height: unknown): void {
    if (typeof height === "number" && Number.isFinite(height) && height >= 0) this.host.resize(height)
  }

  #notify(method: string, params: Json): void {
    this.port.postMessage({ jsonrpc: "2.0", method, params })
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function textOf(params: Json, name: string): string {
  const value = params[name]
  if (typeof value !== "string" || value === "") throw new RpcError(INVALID_PARAMS, `${name} must be a text.`)
  return value
}

/** The prose of the specification shows one block, its schema a list: both are taken. */
function textOfContent(content: unknown): string {
  const blocks: unknown[] = Array.isArray(content) ? content : [content]
  const text = blocks
    .flatMap((block) =>
      isObject(block) && block.type === "text" && typeof block.text === "string" ? [block.text] : [],
    )
    .join("\n")
  if (text.trim() === "") throw new RpcError(INVALID_PARAMS, "content must have a text.")
  return text
}

/** Addresses of the web only: no `javascript:`, no `data:`, no program of the system. */
function linkOf(params: Json): string {
  const text = textOf(params, "url")
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new RpcError(INVALID_PARAMS, "url must be an address of the web.")
  return url.href
}

function filesOf(contents: unknown): { name: string; type: string; bytes: Uint8Array }[] {
  const files = (Array.isArray(contents) ? (contents as unknown[]) : []).flatMap((one) => {
    const resource = isObject(one) && isObject(one.resource) ? one.resource : null
    if (resource === null) return []
    const { uri, mimeType, text, blob } = resource
    const bytes =
      typeof blob === "string" ? fromBase64(blob) : typeof text === "string" ? new TextEncoder().encode(text) : null
    return bytes === null
      ? []
      : [{ name: nameOf(uri), type: typeof mimeType === "string" ? mimeType : "application/octet-stream", bytes }]
  })
  if (files.length === 0) throw new RpcError(INVALID_PARAMS, "contents must have a file.")
  return files
}

function nameOf(uri: unknown): string {
  const last = typeof uri === "string" ? uri.split(/[?#]/)[0]!.split("/").at(-1)! : ""
  try {
    return decodeURIComponent(last) || "file"
  } catch {
    return last
  }
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}
