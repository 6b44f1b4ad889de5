/**
 * The shapes that cross between the host's API and the browser, under the names that the front end uses.
 *
 * They are generated from the Python types (`generated.ts`); by hand is only what JSON Schema has no words for.
 */

import type {
  CallAnswer,
  ErrorAnswer,
  FileTextAnswer,
  InboxAnswer,
  InboxItemAnswer,
  MeAnswer,
  MessageAnswer,
  MessagesAnswer,
  NoteAnswer,
  ServiceStateAnswer,
  SessionAnswer,
  SessionsAnswer,
  StreamEvent,
  ToolAnswer,
  ToolCallAnswer,
  UploadAnswer,
  ViewAnswer,
} from "./generated.ts"

export type {
  CallPause,
  ContentInState,
  ContentState,
  JobInState as ContentJob,
  DeltaMetadata,
  EntryRow,
  Interrupt,
  PausesValue,
  PlanInState,
  Playbook,
  PlaybookInState,
  PlaybookState,
  QueuedAnswer as QueuedMessage,
  Selection,
  ServiceStates,
  SessionHit,
  SessionSize,
  SessionsQuery,
  SessionsValue,
  Step,
  Todo,
  UntoldAnswer as UntoldAction,
  ViewPause,
  ViewReference as ViewRef,
  WorkspaceState,
} from "./generated.ts"

export type Locale = MeAnswer["locale"]
export type ApiErrorBody = ErrorAnswer
export type Me = MeAnswer
export type Model = MeAnswer["models"][number]
export type Assistant = MeAnswer["assistants"][number]
export type Session = SessionAnswer
export type SessionsPage = SessionsAnswer
export type RunSummary = NonNullable<MessagesAnswer["run"]>
export type RunState = RunSummary["state"]
export type Note = NoteAnswer
export type CallRecord = CallAnswer
export type InboxItem = InboxItemAnswer
export type InboxPage = InboxAnswer
export type SettledItem = InboxAnswer["settled"][number]
export type ItemType = InboxItem["type"]
export type Choice = InboxItem["choices"][number]
export type Upload = UploadAnswer
export type FileText = FileTextAnswer
export type ServiceInfo = Omit<ServiceStateAnswer, "stateSchema"> & { stateSchema: JsonSchema }
export type ToolOutcome = ToolCallAnswer
export type View = ViewAnswer
export type PauseStatus = NonNullable<View["pause"]>["status"]

/** A result as MCP has it; the page gets it as it is. */
export type McpResult = ViewAnswer["toolResult"]

export interface TextPart {
  type: "text"
  text: string
  /** It tells the model of a file that the person attached; images have no content. */
  file?: { name: string; contentId: string }
}
export interface ThinkingPart {
  type: "thinking"
  text: string
  tookMs?: number
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
/** Parts are the agent's own JSON. Kinds of a newer build are among them too, and are skipped. */
export type Part = TextPart | ThinkingPart | CallPart | ImagePart | ResultPart

export type Message = Omit<MessageAnswer, "parts"> & { parts: Part[] }
export type Role = Message["role"]
export type MessagesPage = Omit<MessagesAnswer, "messages"> & { messages: Message[] }

export type Scope = "once" | "session" | "assistant"

export interface TurnCall {
  tool: string
  arguments: Record<string, unknown>
}

export type Settlement =
  | { answer: string | string[] }
  | { decline: true }
  | { allow: boolean; scope?: Scope }
  | { say: string }
  | { calls: TurnCall[] }

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

export type Tool = Omit<ToolAnswer, "inputSchema"> & { inputSchema: JsonSchema }

/** AG-UI 1.0. A stored event has `seq`; a live one is a delta of what will be stored, or a state. */
export type RunEvent = StreamEvent

export type WorkingRun = CustomValues["madang/runs"]["runs"][number]

type Custom = Extract<StreamEvent, { type: "CUSTOM" }>
export type CustomValues = { [Event in Custom as Event["name"]]: Event["value"] }
