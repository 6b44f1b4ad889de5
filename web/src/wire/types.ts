/**
 * Every shape that crosses between the host's API and the browser.
 *
 * Written by hand until `scripts/generate` makes it from the Python types of `host/wire.py`; then this file is
 * generated, and nothing else here changes.
 */

export type Locale = "en" | "ko"

export interface ApiErrorBody {
  code: string
  message: string
  hint?: string
}

export interface Model {
  name: string
  label: string
}

export interface Assistant {
  id: string
  name: string
  model: string
}

export interface Me {
  version: string
  locale: Locale
  locales: Locale[]
  /** Empty: manual mode. */
  model: string
  models: Model[]
  assistants: Assistant[]
  dataDir: string
  /** Where the sandbox proxy of pages is: the same port under another name. */
  contentOrigin: string
}

export type RunState = "running" | "waiting" | "finished" | "failed" | "cancelled"

export interface RunSummary {
  id: string
  state: RunState
}

export interface Session {
  id: string
  title: string
  assistantId: string
  lastAt: string
  isPinned: boolean
  isArchived: boolean
  /** The run that is not over. */
  run: RunSummary | null
  openPauses: number
  locale: Locale | null
  parentId: string
}

/** A message that has the words of a query. */
export interface SessionHit {
  sessionId: string
  messageId: string
  excerpt: string
}

export interface SessionsPage {
  sessions: Session[]
  /** Where the next page begins; empty after the last one. */
  next: string
  hits: SessionHit[]
}

export type Role = "user" | "assistant" | "tool" | "summary"

export interface TextPart {
  type: "text"
  text: string
}
export interface ThinkingPart {
  type: "thinking"
  text: string
}
export interface CallPart {
  type: "call"
  id: string
  tool: string
  arguments: string
}
export interface ImagePart {
  type: "image"
  data: string
  mimeType: string
  alt?: string
}
export interface ResultPart {
  type: "result"
  callId: string
  tool: string
  text: string
  isError?: boolean
}
export type Part = TextPart | ThinkingPart | CallPart | ImagePart | ResultPart

export interface Message {
  id: string
  /** Of the event that tells of it. */
  seq: number
  role: Role
  /** Kinds of a newer build are among them too, and are skipped. */
  parts: Part[]
  createdAt: string
  /** `action` and `answered_late` are what the model was told beside its run; a `stopped` answer is half of one. */
  kind: "" | "action" | "answered_late" | "stopped"
  model: string
  inputTokens: number | null
}

export interface ViewRef {
  id: string
  uri: string
}

/** What a call has asked the person, and how that stands. */
export interface CallPause {
  id: string
  kind: string
  status: PauseStatus
  settledBy: ViewPause["settledBy"]
  settledAt: string
  expiresAt: string
}

/** The end of a run that did not go well, between messages. */
export interface Note {
  seq: number
  note: "failed" | "cancelled"
  text: string
  code: string
  retryHelps: boolean
  at: string
}

export interface CallRecord {
  tool: string
  /** As the model wrote them, which need not be JSON. */
  arguments: string
  /** Empty while it runs. */
  outcome: string
  text: string
  data: unknown
  /** How many bytes `data` has, if it is too much to be told; else 0. */
  dataLeftOut: number
  tookMs: number | null
  view: ViewRef | null
  pauseId: string
  pause: CallPause | null
}

export interface QueuedMessage {
  id: string
  text: string
}

export interface MessagesPage {
  messages: Message[]
  /** By `messageId/callId`: models use the same id of a call again in a later turn. */
  calls: Record<string, CallRecord>
  notes: Note[]
  queued: QueuedMessage[]
  /** The last one, also if it is over. */
  run: RunSummary | null
  retry: { attempt: number; code: string } | null
  /** Of the session's log when this was read: a stream goes on after it. */
  lastSeq: number
  hasMore: boolean
}

export type ItemType = "text" | "select" | "multiselect" | "choice" | "wait" | "approval" | "model"

export interface Choice {
  value: string
  label: string
}

export interface InboxItem {
  id: string
  kind: string
  type: ItemType
  title: string
  /** The question; of an approval, the arguments as the model wrote them. */
  text: string
  choices: Choice[]
  /** How many more there are to choose from. */
  leftOut: number
  hint: string
  reason: string
  sessionId: string
  sessionTitle: string
  runId: string
  callId: string
  tool: string
  openedAt: string
  expiresAt: string
  asker: string
}

export type Scope = "once" | "session" | "assistant"

export type Settlement =
  | { answer: string | string[] }
  | { decline: true }
  | { allow: boolean; scope?: Scope }
  | { say: string }
  | { calls: { tool: string; arguments: Record<string, unknown> }[] }

export interface Upload {
  contentId: string
  name: string
  size: number
}

export interface JsonSchema {
  type?: string | string[]
  title?: string
  description?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  $ref?: string
  $defs?: Record<string, JsonSchema>
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  additionalProperties?: boolean | JsonSchema
}

export interface Tool {
  name: string
  title: string
  description: string
  service: string
  effect: "read" | "write" | "destroy"
  audience: "model" | "person"
  showsPage: boolean
  inputSchema: JsonSchema
}

export interface ToolOutcome {
  text: string
  data: unknown
  isError: boolean
  tookMs: number
  view: ViewRef | null
  pauseId: string
}

/** A result as MCP has it; the page gets it as it is. */
export type McpResult = Record<string, unknown>

export type PauseStatus = "open" | "answered" | "cancelled" | "expired" | "withdrawn" | "superseded"

export interface ViewPause {
  id: string
  status: PauseStatus
  /** `person` is this host; `client`, `relayed` and `program` are elsewhere. */
  settledBy: "" | "person" | "program" | "client" | "relayed" | "run"
  settledAt: string
}

export interface View {
  id: string
  uri: string
  html: string
  tool: string
  sessionId: string
  toolInput: Record<string, unknown>
  toolResult: McpResult
  pause: ViewPause | null
}

/* Events: AG-UI 1.0. A stored one has `seq`; a live one is a delta of what will be stored, or a snapshot. */

interface Stored {
  seq?: number
  at?: string
}

export interface Interrupt {
  id: string
  reason: string
  message: string
  toolCallId: string
  expiresAt?: string
}

export type RunOutcome = { type: "success" } | { type: "cancelled" } | { type: "interrupt"; interrupts: Interrupt[] }

/** Of a live delta. `offset` counts code points, as Python does, not UTF-16 units. */
export interface DeltaMetadata {
  runId: string
  offset: number
  messageNo: number
}

export interface CustomValues {
  "madang/answered": { messageId: string; model: string; inputTokens: number | null; outputTokens: number | null }
  /** The end of an answer that the person stopped: half of one. */
  "madang/stopped": { messageId: string }
  "madang/pause": { toolCallId: string; id: string; kind: string; view?: ViewRef; pause?: CallPause }
  "madang/results": { messageId: string }
  "madang/answered_late": { messageId: string; id: string; text: string; pause?: CallPause }
  "madang/action": { messageId: string; text: string }
  "madang/queued": { messageId: string; text: string }
  "madang/withdrawn": { messageId: string }
  "madang/retry": { attempt: number; afterS: number; code: string }
  "madang/compacted": { messageId: string; upToSeq: number; text?: string }
  "madang/inbox": { open: number }
  "madang/sessions": Record<string, never>
  /** The last event of a stream that ends. `gap`, `beyond`: the log is not the one that the reader knows. */
  "madang/resync": { reason: "slow" | "stopping" | "gap" | "beyond" }
}

type Custom = {
  [Name in keyof CustomValues]: Stored & { type: "CUSTOM"; name: Name; value: CustomValues[Name] }
}[keyof CustomValues]

export type RunEvent =
  | (Stored & { type: "RUN_STARTED"; threadId: string; runId: string; parentRunId?: string })
  | (Stored & { type: "RUN_FINISHED"; threadId: string; runId: string; outcome: RunOutcome })
  | (Stored & { type: "RUN_ERROR"; message: string; code: string; retryHelps?: boolean })
  | (Stored & { type: "TEXT_MESSAGE_START"; messageId: string; role: "user" | "assistant" })
  | (Stored & { type: "TEXT_MESSAGE_CONTENT"; messageId?: string; delta: string; metadata?: DeltaMetadata })
  | (Stored & { type: "TEXT_MESSAGE_END"; messageId: string; metadata?: { images: number } })
  | (Stored & { type: "REASONING_MESSAGE_START"; messageId: string; role: "reasoning" })
  | (Stored & { type: "REASONING_MESSAGE_CONTENT"; messageId: string; delta: string })
  | (Stored & { type: "REASONING_MESSAGE_END"; messageId: string })
  | (Stored & { type: "TOOL_CALL_START"; toolCallId: string; toolCallName: string; parentMessageId: string })
  | (Stored & { type: "TOOL_CALL_ARGS"; toolCallId: string; delta: string })
  | (Stored & { type: "TOOL_CALL_END"; toolCallId: string })
  | (Stored & {
      type: "TOOL_CALL_RESULT"
      messageId: string
      toolCallId: string
      content: string
      metadata: {
        outcome: string
        tookMs?: number
        data?: unknown
        dataLeftOut?: number
        /** How many there are: they are in the message of the results. */
        images?: number
        view?: ViewRef | null
        pause?: CallPause
      }
    })
  | (Stored & { type: "STATE_SNAPSHOT"; snapshot: { services: Record<string, unknown> } })
  | Custom
