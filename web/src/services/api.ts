/** The only module that talks to the network. It keeps the token of this tab, and makes errors of refusals. */

import { isPlace } from "../core/route.ts"
import { ServerTrust } from "./proof.ts"
import type {
  FileText,
  ApiErrorBody,
  InboxPage,
  Locale,
  McpResult,
  Me,
  MessagesPage,
  Session,
  ServiceInfo,
  SessionsPage,
  SessionsQuery,
  Settlement,
  Tool,
  ToolOutcome,
  TurnCall,
  Upload,
  View,
} from "../wire/types.ts"

const TOKEN_KEY = "madang.token"
/** Uploads and streams have none. */
const TIMEOUT_MS = 30_000

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly hint: string

  constructor(status: number, body: Partial<ApiErrorBody>) {
    super(body.message ?? `HTTP ${status}`)
    this.status = status
    this.code = body.code ?? ""
    this.hint = body.hint ?? ""
  }
}

/** The server was not reached: it may be back in a moment. */
export class Unreachable extends Error {}

export function hasToken(): boolean {
  return sessionStorage.getItem(TOKEN_KEY) !== null
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN_KEY)
}

/** Trade the launch code of the printed address for this tab's token, and take the code out of the history. */
export async function takeLaunchCode(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("launch")
  if (code === null) return
  history.replaceState(null, "", location.pathname + takeWantedPlace())
  const { token } = await post<{ token: string }>("/api/launch", { code })
  sessionStorage.setItem(TOKEN_KEY, token)
}

const WANTED_KEY = "madang.wanted"
const WANTED_MS = 10 * 60_000

/** Remember the address of a tab that is not let in yet: the tab that a launch address opens goes there. */
export function keepWantedPlace(): void {
  if (isPlace(location.hash)) localStorage.setItem(WANTED_KEY, JSON.stringify([Date.now(), location.hash]))
}

function takeWantedPlace(): string {
  try {
    const [at, hash] = JSON.parse(localStorage.getItem(WANTED_KEY) ?? "[]") as [number?, string?]
    return at !== undefined && hash !== undefined && Date.now() - at < WANTED_MS && isPlace(hash) ? hash : ""
  } catch {
    return "" // somebody else wrote there
  } finally {
    localStorage.removeItem(WANTED_KEY)
  }
}

const TOKEN_CHANNEL = "madang.token"
/** The lender asks the server before. */
const BORROW_MS = 1_000

/** Ask the other tabs of this origin for their token. Only our own pages are of it, and only they can hear. */
export function borrowToken(): Promise<boolean> {
  const channel = new BroadcastChannel(TOKEN_CHANNEL)
  return new Promise((resolve) => {
    const end = (isBorrowed: boolean) => {
      clearTimeout(timer)
      channel.close()
      resolve(isBorrowed)
    }
    const timer = setTimeout(() => end(false), BORROW_MS)
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (typeof data !== "object" || data === null || !("token" in data) || typeof data.token !== "string") return
      sessionStorage.setItem(TOKEN_KEY, data.token)
      end(true)
    }
    channel.postMessage("wanted")
  })
}

/** Answer tabs that ask, for as long as this one lives. */
export function lendToken(): void {
  const channel = new BroadcastChannel(TOKEN_CHANNEL)
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    const token = sessionStorage.getItem(TOKEN_KEY)
    if (data !== "wanted" || token === null) return
    // Who asks may be a page of a program that took the port: the server is asked first, whatever is thought of it.
    doubtServer()
    void trustServer().then(
      () => channel.postMessage({ token }),
      () => {},
    )
  }
}

const server = new ServerTrust(globalThis.location?.origin ?? "")

/** The server was lost: before it is sent the token again, it has to show that it knows it. */
export function doubtServer(): void {
  server.doubt()
}

/** Wait until the server may be sent the token: `Unreachable` if it cannot be asked, 401 if it has another one. */
export async function trustServer(): Promise<void> {
  const token = sessionStorage.getItem(TOKEN_KEY)
  const verdict = token === null ? "ours" : await server.judge(token)
  if (verdict === "unreachable") throw new Unreachable()
  if (verdict === "another") throw new ApiError(401, {})
}

function ownHeaders(): [name: string, value: string][] {
  const token = sessionStorage.getItem(TOKEN_KEY)
  return [
    ...(token === null ? [] : [["Authorization", `Bearer ${token}`] as [string, string]]),
    // The language of refusals; those within a session speak its own.
    ["Accept-Language", document.documentElement.lang],
  ]
}

export async function request(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  await trustServer()
  const headers = new Headers(init.headers)
  for (const [name, value] of ownHeaders()) headers.set(name, value)
  let response: Response
  try {
    response = await fetch(path, {
      ...init,
      method,
      headers,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
    })
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error // the caller gave it up
    doubtServer()
    throw new Unreachable()
  }
  if (response.ok) return response
  const body: unknown = await response.json().catch(() => ({}))
  throw new ApiError(response.status, typeof body === "object" && body !== null ? body : {})
}

export async function json<T>(method: string, path: string, body?: unknown, timeoutMs = TIMEOUT_MS): Promise<T> {
  const init: RequestInit = { signal: AbortSignal.timeout(timeoutMs) }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { "Content-Type": "application/json" }
  }
  const response = await request(method, path, init)
  const text = await response.text()
  return (text === "" ? undefined : JSON.parse(text)) as T
}

const get = <T>(path: string) => json<T>("GET", path)
const post = <T>(path: string, body: unknown = {}) => json<T>("POST", path, body)
const at = encodeURIComponent
const session = (id: string) => `/api/sessions/${segmentOf(id)}`

/** A session's name in a path. Programs give any name, and one with a slash or of dots alone is no segment. */
export function segmentOf(id: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(id)) return id
  const bytes = new TextEncoder().encode(id)
  const encoded = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
  return `~${encoded.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`
}

export const getMe = () => get<Me>("/api/me")

export const findSessions = (query: SessionsQuery = {}) =>
  get<SessionsPage>(
    `/api/sessions?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]))}`,
  )
export const listSessions = async () => (await findSessions()).sessions
export const getSession = (id: string) => get<Session>(session(id))
export const createSession = (values: { assistantId?: string; locale?: Locale; title?: string } = {}) =>
  post<Session>("/api/sessions", values)
export const updateSession = (
  id: string,
  values: Partial<Pick<Session, "title" | "isArchived" | "isPinned">> & { locale?: Locale },
) => json<Session>("PATCH", session(id), values)
export const deleteSession = (id: string) => json<void>("DELETE", session(id))
/** A new session with the history up to a message; `before`: without that message. */
export const forkSession = (id: string, messageId: string, before: boolean) =>
  post<Session>(`${session(id)}/fork`, { messageId, before })

export const getMessages = (id: string, before?: number, limit = 60) =>
  get<MessagesPage>(`${session(id)}/messages?limit=${limit}${before === undefined ? "" : `&before=${before}`}`)
export const sendMessage = (
  id: string,
  values: { text: string; attachments?: { contentId: string; name: string }[]; model?: string },
) => post<{ runId: string; queuedId: string }>(`${session(id)}/messages`, values)
export const withdrawMessage = (id: string, queuedId: string) =>
  json<void>("DELETE", `${session(id)}/messages/${at(queuedId)}`)
export const stopRun = (id: string) => post<void>(`${session(id)}/stop`)

export const listInbox = async () => (await get<InboxPage>("/api/inbox")).items
/** What was answered, or ended without an answer, in the last days; `after` is an earlier page's `next`. */
export const listSettled = (state: "answered" | "over", after = "") =>
  get<InboxPage>(`/api/inbox?state=${state}&after=${at(after)}`)
export const settle = (id: string, settlement: Settlement) => post<unknown>(`/api/inbox/${at(id)}`, settlement)

export const upload = (id: string, file: File, signal: AbortSignal, onProgress: Progress) =>
  send<Upload>(`${session(id)}/uploads?name=${at(file.name)}`, file, signal, onProgress)

type Progress = (part: number) => void

/** Send a file. By XMLHttpRequest: `fetch` does not tell how much is sent. */
async function send<T>(address: string, file: Blob, signal: AbortSignal, onProgress: Progress): Promise<T> {
  await trustServer()
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open("POST", address)
    request.setRequestHeader("Content-Type", "application/octet-stream")
    for (const [name, value] of ownHeaders()) request.setRequestHeader(name, value)
    request.responseType = "json"
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 1)
    request.onload = () => {
      const answer: unknown = request.response
      if (request.status < 300) resolve(answer as T)
      else reject(new ApiError(request.status, (answer ?? {}) as Partial<ApiErrorBody>))
    }
    request.onerror = () => {
      doubtServer()
      reject(new Unreachable())
    }
    request.onabort = () => reject(new DOMException("", "AbortError"))
    signal.addEventListener("abort", () => request.abort(), { once: true })
    request.send(file)
  })
}

export const listTools = async (id: string) => (await get<{ tools: Tool[] }>(`${session(id)}/tools`)).tools
export const callTool = (id: string, name: string, args: Record<string, unknown>) =>
  post<ToolOutcome>(`${session(id)}/tools/${at(name)}`, { arguments: args })

/** Take the turn of the model where there is none: what comes of the calls is told by the session's stream. */
export const takeTurn = (id: string, turn: { say?: string; calls?: TurnCall[] }) =>
  post<{ runId: string; callIds: string[] }>(`${session(id)}/turns`, turn)

/* Panels */

export const listServices = async (id: string) =>
  (await get<{ services: ServiceInfo[] }>(`${session(id)}/services`)).services
/** Rows of a list in a service's state, of which the state has the first ones. */
export const listStateRows = <Row>(
  id: string,
  service: string,
  list: string,
  { under, page, pageSize }: { under: string; page: number; pageSize: number },
) =>
  get<{ rows: Row[]; total: number }>(
    `${session(id)}/state/${at(service)}/${at(list)}?under=${at(under)}&page=${page}&pageSize=${pageSize}`,
  )
export const readFile = async (id: string, path: string) =>
  (await request("GET", `${session(id)}/files?path=${at(path)}`)).blob()
/** What a document says (PDF, office files), as the content store would read it; nothing is kept. */
export const readFileText = (id: string, path: string) => get<FileText>(`${session(id)}/files/text?path=${at(path)}`)
/** A page of a PDF as a picture, and how many there are. */
export async function readFilePage(id: string, path: string, page: number): Promise<{ image: Blob; pages: number }> {
  const answer = await request("GET", `${session(id)}/files/page?path=${at(path)}&page=${page}`)
  return { image: await answer.blob(), pages: Number(answer.headers.get("x-page-count")) }
}
export const readExport = async (id: string, exportId: string, name: string) =>
  (await request("GET", `${session(id)}/exports?id=${at(exportId)}&name=${at(name)}`)).blob()

export const uploadFile = (id: string, path: string, file: Blob, signal: AbortSignal, onProgress: Progress) =>
  send<unknown>(`${session(id)}/files?path=${at(path)}`, file, signal, onProgress)

export const getView = (id: string) => get<View>(`/api/views/${at(id)}`)
/** The person lets a page run its scripts that may be what a model wrote. */
export const letRunScripts = (id: string) => post<unknown>(`/api/views/${at(id)}/scripts`)
/** What a page's own result links to. */
export async function readFromView(id: string, uri: string): Promise<{ contents: unknown[] }> {
  return post(`/api/views/${at(id)}/resources`, { uri })
}

/** A page's own call. Which tools it may call is the server's to say. */
export async function callFromView(id: string, name: string, args: unknown): Promise<McpResult> {
  const answer = await post<{ result: McpResult }>(`/api/views/${at(id)}/tools`, { name, arguments: args ?? {} })
  return answer.result
}

export const getLog = async () => (await get<{ lines: string[] }>("/api/log?lines=200")).lines
/** About this program and this computer, and nothing of what was written. */
export const getReport = async () => (await get<{ text: string }>("/api/report")).text
